#include "cli/watch_messages.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/nanos.h"
#include "cli/paths_verb.h"
#include "import/watch/io_probe.h"
#include "import/watch/watched_messages.h"

namespace wf::cli {
namespace {

constexpr int kPollMilliseconds = 20;

// Message text on its way to a file: the user's, or one that goes when it has been read.
class MessageFile {
 public:
  static Result<std::unique_ptr<MessageFile>> Create(const std::string& out) {
    auto file = std::make_unique<MessageFile>();
    file->path_ = out;
    if (out.empty()) {
      const char* folder = std::getenv("TMPDIR");
      file->path_ = std::string(folder == nullptr ? "/tmp" : folder) + "/wherefore-watch-XXXXXX";
      const int fd = ::mkstemp(file->path_.data());
      file->file_ = fd < 0 ? nullptr : ::fdopen(fd, "w");
      file->temporary_ = true;
    } else {
      file->file_ = std::fopen(out.c_str(), "we");
    }
    if (file->file_ == nullptr) return file->Failed();
    return file;
  }
  ~MessageFile() {
    if (file_ != nullptr) std::fclose(file_);
    if (temporary_) ::unlink(path_.c_str());
  }
  void Write(std::string_view line) {
    failed_ = failed_ || std::fwrite(line.data(), 1, line.size(), file_) != line.size();
  }
  Status Flush() {
    if (failed_ || std::fflush(file_) != 0) return Failed();
    return {};
  }
  const std::string& path() const { return path_; }

 private:
  Error Failed() const {
    return EnvironmentError(path_ + ": " + std::strerror(errno),
                            "is the folder writable, and is there room?");
  }
  std::string path_;
  std::FILE* file_ = nullptr;
  bool temporary_ = false, failed_ = false;
};

std::vector<std::string> Notes(const watch::WatchCounts& counts, const watch::IoCounters& probe) {
  std::vector<std::string> notes;
  const auto note = [&](uint64_t count, const char* what) {
    if (count != 0) notes.push_back(fmt::format("{} {}", count, what));
  };
  note(probe.dropped_ring_full, "calls lost: they came faster than they could be read");
  note(probe.dropped_table_full, "calls lost: too many threads at once");
  note(probe.late_sends, "messages are timed by the end of their call: too many threads at once");
  note(counts.unresolved, "connections not reported: closed before they could be read");
  note(counts.mid_stream, "partial returns not reported: their requests came before the watch");
  note(counts.tls, "connections are encrypted (TLS): only direction changes are visible");
  note(counts.http2, "connections use HTTP/2: overlapping requests on one of them count as one");
  for (const std::string& name : counts.uring)
    notes.push_back(name + " also uses io_uring, whose transfers are not seen");
  return notes;
}

}  // namespace

Status WatchMessages(const WatchMessagesFlags& flags, Nanos end,
                     const std::function<bool()>& stopped, const CommonFlags& common) {
  watch::WatchFilter filter;
  filter.programs = flags.programs;
  for (const int port : flags.ports) {
    if (port < 1 || port > 65535)
      return BadInput(fmt::format("--port {}: not a port", port), "from 1 to 65535");
    filter.ports.insert(static_cast<uint16_t>(port));
  }
  if (flags.by == "pid") filter.nodes = watch::WatchFilter::Nodes::kByProcess;
  std::vector<uint32_t> only;
  for (const int pid : flags.pids) {
    if (pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH))
      return BadInput(fmt::format("--pid {}: no such process", pid),
                      "pgrep -a NAME finds its number");
    only.push_back(static_cast<uint32_t>(pid));
  }
  const auto host = watch::WatchedHost::ThisOne();
  std::unique_ptr<watch::IoProbe> probe;
  watch::WatchedMessages messages(
      *host, filter,
      {[&](uint32_t process) { probe->IgnoreProcess(process); },
       [&](uint32_t process, int fd) { probe->IgnoreDescriptor(process, fd); },
       [&](uint32_t process, int fd) { probe->KnowDescriptor(process, fd); }});
  WF_ASSIGN(probe, watch::IoProbe::Attach(
                       only, [&](const watch::IoRecord& record) { messages.Add(record); }));
  WF_ASSIGN(const auto file, MessageFile::Create(flags.out));
  std::fprintf(stderr, "watching messages; Ctrl-C stops\n");
  const auto write = [&](std::string_view line) { file->Write(line); };
  while (!stopped() && MonotonicNow() < end) {
    WF_TRY(probe->Poll(kPollMilliseconds));
    const Nanos now = MonotonicNow();
    messages.Take(now, Now() - now, write);
    WF_TRY(file->Flush());
  }
  WF_TRY(probe->Poll(0));
  const watch::IoCounters counters = probe->Counters();
  probe->Detach();  // what runs here runs on unwatched while we compute
  messages.Take(watch::WatchedMessages::kForever, Now() - MonotonicNow(), write);
  WF_TRY(file->Flush());
  for (const std::string& note : Notes(messages.counts(), counters))
    std::fprintf(stderr, "  %s\n", note.c_str());
  std::fprintf(stderr, "%llu messages on %llu connections%s%s\n",
               static_cast<unsigned long long>(messages.counts().messages),
               static_cast<unsigned long long>(messages.counts().connections),
               flags.out.empty() ? "" : " in ", flags.out.c_str());
  return PrintPathsOf({file->path()}, common);
}

}  // namespace wf::cli
