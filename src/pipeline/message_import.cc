#include "pipeline/message_import.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "analysis/paths/paths_inference.h"
#include "import/detect/sighting_input.h"
#include "import/messages/message_text.h"
#include "pipeline/inferred_traces.h"

namespace wf::pipeline {
namespace {

constexpr size_t kMessagesAtOnce = 50'000;  // one insertion: 10 MB
constexpr size_t kInferredRowsAtOnce = 4096;

// Hands sightings on, and keeps each in the store.
class KeepingSource : public SightingSource {
 public:
  KeepingSource(SightingSource& source, const StringTable& nodes, const std::string& tenant,
                store::MessageStore& store)
      : source_(source), nodes_(nodes), tenant_(tenant), store_(store) {}

  Result<bool> Next(SightingLine& line) override {
    WF_ASSIGN(const bool more, source_.Next(line));
    if (!more) {
      WF_TRY(Flush());
      return false;
    }
    const Sighting& s = line.sighting;
    messages_.push_back({s.time_ns, std::string(messages::OpName(s.kind, s.by)),
                         std::string(nodes_.At(s.sender)), std::string(nodes_.At(s.receiver)),
                         line.id, line.keys});
    ++count_;
    if (messages_.size() == kMessagesAtOnce) WF_TRY(Flush());
    return true;
  }
  int64_t count() const { return count_; }

 private:
  Status Flush() {
    WF_TRY(store_.AppendMessages(tenant_, messages_));
    messages_.clear();
    return {};
  }
  SightingSource& source_;
  const StringTable& nodes_;
  const std::string& tenant_;
  store::MessageStore& store_;
  std::vector<Message> messages_;
  int64_t count_ = 0;
};

// Bytes in a file that goes with it.
class TemporaryFile {
 public:
  static Result<std::unique_ptr<TemporaryFile>> Hold(std::string_view content) {
    const char* folder = std::getenv("TMPDIR");
    auto file = std::make_unique<TemporaryFile>();
    file->path_ = std::string(folder == nullptr ? "/tmp" : folder) + "/wherefore-upload-XXXXXX";
    const int fd = ::mkstemp(file->path_.data());
    const auto failed = [&] {
      return EnvironmentError(file->path_ + ": " + std::strerror(errno),
                              "an uploaded file of messages needs room there; TMPDIR names "
                              "another folder");
    };
    if (fd < 0) return failed();
    bool written = true;
    for (size_t done = 0; written && done < content.size();) {
      const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
      written = n > 0;
      if (written) done += static_cast<size_t>(n);
    }
    const Error error = failed();
    ::close(fd);
    if (!written) return error;
    return file;
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Who uploads a file is told of the file, not of our copy of it.
Error Named(Error error, const std::string& copy, std::string_view name) {
  for (size_t at = 0; (at = error.message.find(copy, at)) != std::string::npos; at += name.size())
    error.message.replace(at, copy.size(), name);
  return error;
}

}  // namespace

Result<MessageImport> ImportMessages(SightingSource& source, const StringTable& nodes,
                                     const std::string& tenant, store::MessageStore& store,
                                     ImportJob& job) {
  MessageImport import;
  KeepingSource keeping(source, nodes, tenant, store);
  paths::PathsRequest request;
  request.on_assigned = [&](std::span<const paths::Call> calls,
                            const std::vector<paths::Assignment>& assignments) -> Status {
    WF_ASSIGN(
        const InferredTraceCounts counts,
        WriteInferredTraces(calls, assignments, nodes, kInferredRowsAtOnce,
                            [&](EventBatch&& batch) { return job.AddBatch(std::move(batch)); }));
    import.traces = counts.traces;
    import.spans = counts.spans;
    return {};
  };
  WF_ASSIGN(const paths::PathsFindings findings, paths::InferPaths(keeping, nodes, request));
  import.messages = keeping.count();
  import.unpaired_calls = findings.pairing.unpaired_calls;
  import.unpaired_returns = findings.pairing.unpaired_returns;
  import.msgs = findings.pairing.msgs;
  import.algorithm = paths::NameOf(findings.algorithm);
  import.why = findings.why;
  return import;
}

Status ImportMessageFiles(const std::vector<std::string>& paths, const std::string& tenant,
                          store::MessageStore& store, ImportJob& job,
                          const ImportJob::Progress& progress) {
  detect::SightingOptions options;
  options.texts = detect::SightingTexts::kKeep;
  StringTable nodes;
  WF_ASSIGN(const auto input, detect::SightingInput::Open(paths, options, nodes));
  // Progress and Ctrl-C, a look at a time.
  class Watched : public SightingSource {
   public:
    Watched(detect::SightingInput& input, const ImportJob::Progress& progress)
        : input_(input), progress_(progress) {}
    Result<bool> Next(SightingLine& line) override {
      if (++count_ % 10'000 == 0 && !progress_(input_.bytes_read()))
        return EnvironmentError("import: stopped; messages read so far are kept",
                                "run it again: no duplicates are stored");
      return input_.Next(line);
    }

   private:
    detect::SightingInput& input_;
    const ImportJob::Progress& progress_;
    uint64_t count_ = 0;
  } watched(*input, progress);
  WF_ASSIGN(const MessageImport import, ImportMessages(watched, nodes, tenant, store, job));
  std::map<std::string, int64_t> repairs;
  const auto count = [&](const char* name, uint64_t n) {
    if (n != 0) repairs[name] = static_cast<int64_t>(n);
  };
  count("message_unpaired_call", import.unpaired_calls);
  count("message_unpaired_return", import.unpaired_returns);
  count("message_late", input->counts().late);
  count("message_duplicate", input->counts().duplicates);
  if (import.traces == 0) count("message_without_trace", static_cast<uint64_t>(import.messages));
  job.AddMessages(static_cast<int64_t>(input->counts().files), import.messages, repairs);
  return {};
}

Status ImportMessageContent(std::string_view name, std::string_view content,
                            const std::string& tenant, store::MessageStore& store, ImportJob& job) {
  WF_ASSIGN(const auto file, TemporaryFile::Hold(content));
  const Status status =
      ImportMessageFiles({file->path()}, tenant, store, job, [](size_t) { return true; });
  if (!status.ok()) return Named(status.error(), file->path(), name);
  return {};
}

}  // namespace wf::pipeline
