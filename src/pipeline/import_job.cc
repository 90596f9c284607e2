#include "pipeline/import_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/count_of.h"
#include "import/detect/importer.h"
#include "json/json_reader.h"
#include "json/json_writer.h"
#include "log/log.h"
#include "model/trace_builder.h"

namespace wf::pipeline {
namespace {

// Traces modeled at once after an import: enough to make a read worth its cost, few enough to stay small.
constexpr size_t kModelGroup = 256;
constexpr size_t kReportedIds = 100;
// Of small files, before they are kept: as much as the decoders give of a large one at once, about.
constexpr size_t kGatheredRows = 8192, kGatheredBytes = size_t{8} << 20;
constexpr size_t kAttachmentChunk = size_t{1} << 20;
// Overload passes when the flusher has caught up, within seconds even on a slow disk. Half a minute of it means that
// the disk is full; a client's own patience ends later.
constexpr std::chrono::milliseconds kFirstPause{10}, kLongestPause{1000}, kPatience{30'000};

// What makes a row the same event as another: trace, id, content.
struct RowIdentity {
  TraceId trace;
  uint64_t id1;
  Hash128 content;
  bool operator==(const RowIdentity& o) const {
    return trace == o.trace && id1 == o.id1 && content == o.content;
  }
};
struct RowIdentityHash {
  size_t operator()(const RowIdentity& r) const { return r.content.lo ^ r.id1 * 31 ^ r.trace.lo; }
};

}  // namespace

ImportJob::ImportJob(store::Store& store, std::string tenant, decode::DecodeOptions decode,
                     TraceLimits limits)
    : store_(store), tenant_(std::move(tenant)), decode_(std::move(decode)), limits_(limits) {}

// One file read piece by piece. The caller's progress may ask us to stop.
class FileSource {
 public:
  FileSource(std::string path, const ImportJob::Progress& progress)
      : path_(std::move(path)), progress_(progress) {}
  ~FileSource() {
    if (fd_ >= 0) ::close(fd_);
  }
  Status Open() {
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0)
      return EnvironmentError(path_ + ": " + std::strerror(errno), "check its permissions");
    return {};
  }
  Result<size_t> Read(char* buffer, size_t size) {
    const ssize_t n = ::read(fd_, buffer, size);
    if (n < 0) return EnvironmentError(path_ + ": " + std::strerror(errno), "is it a file?");
    done_ += static_cast<size_t>(n);
    if (!progress_(done_)) {
      return EnvironmentError("import: stopped in " + path_ + "; records read so far are stored",
                              "run it again: no duplicates are stored");
    }
    return static_cast<size_t>(n);
  }

 private:
  std::string path_;
  const ImportJob::Progress& progress_;
  int fd_ = -1;
  size_t done_ = 0;
};

detect::ImportOptions ImportJob::Options() const {
  detect::ImportOptions options;
  options.decode = decode_;
  options.tenant = tenant_;
  options.received_ns = Now();
  options.keep_recording = [this](TraceId trace, std::string_view content) {
    store::Attachment attachment{trace, "recording", {}};
    for (size_t at = 0; at < content.size(); at += kAttachmentChunk)
      attachment.chunks.emplace_back(content.substr(at, kAttachmentChunk));
    return store_.PutAttachment(tenant_, attachment);
  };
  return options;
}

Status ImportJob::AddContent(std::string_view name, std::string_view content,
                             std::optional<detect::FileContinuation> continues) {
  detect::ImportOptions options = Options();
  options.continues = continues;
  return Count(std::string(name),
               detect::ImportBytes(content, name, options,
                                   [this](EventBatch&& batch) { return Take(std::move(batch)); }));
}

Status ImportJob::AddFile(const std::string& path, const Progress& progress) {
  FileSource file(path, progress);
  WF_TRY(file.Open());
  return Count(path, detect::ImportStream(
                         [&](char* buffer, size_t size) { return file.Read(buffer, size); }, path,
                         Options(), [this](EventBatch&& batch) { return Take(std::move(batch)); }));
}

Status ImportJob::AddBatch(EventBatch&& batch) {
  batch.tenant = tenant_;
  batch.received_ns = Now();
  return KeepNew(std::move(batch));
}

void ImportJob::AddMessages(int64_t files, int64_t messages,
                            const std::map<std::string, int64_t>& repairs) {
  report_.files += files;
  report_.messages += messages;
  for (const auto& [name, count] : repairs) decoded_.Repair(name, count);
}

void ImportJob::AddTraces(const std::vector<TraceId>& ids) {
  traces_.insert(ids.begin(), ids.end());
  times_unknown_ = true;
}

Status ImportJob::Count(const std::string& name, const Result<detect::ImportResult>& result) {
  if (!result.ok()) {
    WF_TRY(KeepGathered());  // what came before a file that fails is kept
    return result.error();
  }
  ++report_.files;
  decoded_.Add(result->report);
  if (report_.first_fault.empty()) report_.first_fault = result->first_fault;
  if (report_.first_fault.empty() && !result->report.first_fault.empty()) {
    report_.first_fault = name + ": " + result->report.first_fault;
  }
  return {};
}

Status ImportJob::Take(EventBatch batch) {
  const auto large = [](const EventBatch& one) {
    return one.size() >= kGatheredRows || one.MemoryBytes() >= kGatheredBytes;
  };
  if (large(batch)) {
    WF_TRY(KeepGathered());
    return KeepNew(std::move(batch));
  }
  if (gathered_.empty()) {
    gathered_ = std::move(batch);
    return {};
  }
  RowCopier copier(batch, gathered_);
  for (size_t i = 0; i < batch.size(); ++i) copier.Copy(i);
  return large(gathered_) ? KeepGathered() : Status();
}

Status ImportJob::KeepGathered() { return KeepNew(std::exchange(gathered_, {})); }

// Keeps the rows that are not there yet.
Status ImportJob::KeepNew(EventBatch batch) {
  if (batch.empty()) return {};
  std::set<TraceId> ids;
  for (size_t i = 0; i < batch.size(); ++i) ids.insert(batch.trace_id(i));
  WF_ASSIGN(const EventBatch there, store_.ReadTraces(tenant_, {ids.begin(), ids.end()}));
  std::unordered_set<RowIdentity, RowIdentityHash> known;
  std::map<TraceId, int64_t> stored;
  for (size_t i = 0; i < there.size(); ++i) {
    known.insert({there.trace_id(i), there.id1[i], ContentHash(there, i)});
    ++stored[there.trace_id(i)];
  }
  EventBatch fresh;
  fresh.tenant = tenant_;
  fresh.received_ns = batch.received_ns;
  RowCopier copier(batch, fresh);
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!known.insert({batch.trace_id(i), batch.id1[i], ContentHash(batch, i)}).second) {
      ++report_.duplicates;
      continue;
    }
    if (Refuses(batch.trace_id(i), stored[batch.trace_id(i)])) continue;
    if (++stored[batch.trace_id(i)] > limits_.max_events) Refuse(batch.trace_id(i));
    copier.Copy(i);
    WidenTime(batch.start_ns[i]);
    ++report_.events;
    report_.spans += batch.type[i] == EventType::kSpan;
  }
  traces_.insert(ids.begin(), ids.end());
  if (fresh.empty()) return {};
  return Keep(fresh);
}

void ImportJob::WidenTime(Nanos start) {
  report_.time.from = std::min(report_.time.from, start);
  report_.time.until = std::max(report_.time.until, SaturatingAdd(start, 1));
}

// Whether a new event of a trace, of which so many are stored, is one too many. Then it is counted.
bool ImportJob::Refuses(TraceId id, int64_t stored) {
  if (limits_.refused == nullptr) return false;
  if (stored <= limits_.max_events && !limits_.refused->Lists({tenant_, id})) return false;
  limits_.refused->CountDropped(1);
  decoded_.Reject("trace_too_long");
  return true;
}

void ImportJob::Refuse(TraceId id) {
  if (limits_.refused == nullptr || limits_.refused->Lists({tenant_, id})) return;
  log::Warn("trace {}: too many events; the rest is dropped", ToHex(id));
  if (const Status status = limits_.refused->Add({tenant_, id}); !status.ok())
    log::Error("{}", status.error().message);
}

// Appends, and while the store is overloaded waits and tries again: it has kept nothing, and nobody else would come
// again later for a file.
Status ImportJob::Keep(const EventBatch& batch) {
  std::chrono::milliseconds pause = kFirstPause;
  for (std::chrono::milliseconds waited{0};; pause = std::min(pause * 2, kLongestPause)) {
    Status status = store_.AppendAndWait(batch);
    if (status.ok() || status.error().code != ErrorCode::kOverloaded || waited >= kPatience)
      return status;
    std::this_thread::sleep_for(pause);
    waited += pause;
  }
}

// Builds every imported trace once, to say what had to be repaired.
Status ImportJob::Model() {
  std::vector<TraceId> group;
  const auto build = [&]() -> Status {
    if (group.empty()) return {};
    WF_ASSIGN(const EventBatch events, store_.ReadTraces(tenant_, group));
    group.clear();
    for (size_t begin = 0; begin < events.size();) {
      std::vector<uint32_t> rows;
      size_t end = begin;
      for (; end < events.size() && events.trace_id(end) == events.trace_id(begin); ++end) {
        rows.push_back(static_cast<uint32_t>(end));
      }
      if (times_unknown_)
        for (const uint32_t row : rows) WidenTime(events.start_ns[row]);
      const Trace trace = BuildTrace(events, std::move(rows));
      for (size_t pass = 0; pass < kRepairPasses; ++pass) {
        if (trace.repair_counts[pass] != 0) {
          report_.repairs[std::string(RepairPassName(static_cast<RepairPass>(pass)))] +=
              trace.repair_counts[pass];
        }
      }
      begin = end;
    }
    return {};
  };
  for (const TraceId& id : traces_) {
    group.push_back(id);
    if (group.size() == kModelGroup) WF_TRY(build());
  }
  return build();
}

Result<ImportReport> ImportJob::Finish(Modeling modeling) {
  WF_TRY(KeepGathered());
  if (modeling == Modeling::kNow) WF_TRY(Model());
  report_.traces = static_cast<int64_t>(traces_.size());
  report_.rejected = decoded_.rejected;
  for (const auto& [name, n] : decoded_.repairs) report_.repairs[name] += n;
  for (const auto& [name, n] : decoded_.reasons) report_.reasons[name] += n;
  for (const TraceId& id : traces_) {
    if (modeling == Modeling::kNow && report_.trace_ids.size() == kReportedIds) break;
    report_.trace_ids.push_back(id);
  }
  return report_;
}

std::string ImportReportJson(const ImportReport& r) {
  JsonWriter json;
  json.BeginObject()
      .Field("files", r.files)
      .Field("traces", r.traces)
      .Field("spans", r.spans)
      .Field("duplicates", r.duplicates)
      .Field("rejected", r.rejected);
  const auto counts = [&](std::string_view key, const std::map<std::string, int64_t>& values) {
    json.Key(key).BeginObject();
    for (const auto& [name, n] : values) json.Field(name, n);
    json.EndObject();
  };
  counts("repairs", r.repairs);
  counts("reasons", r.reasons);
  json.Field("events", r.events);
  if (r.messages != 0) json.Field("messages", r.messages);
  if (!r.first_fault.empty()) json.Field("first_fault", r.first_fault);
  json.Key("trace_ids").BeginArray();
  for (const TraceId& id : r.trace_ids) json.String(ToHex(id));
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

Result<ImportReport> ParseImportReport(std::string_view text) {
  JsonParser parser;
  WF_ASSIGN(const JsonValue root, parser.Parse(text));
  const auto number = [&](std::string_view key) { return root.Get(key).Int().value_or(0); };
  ImportReport r;
  r.files = number("files");
  r.traces = number("traces");
  r.spans = number("spans");
  r.events = number("events");
  r.messages = number("messages");
  r.duplicates = number("duplicates");
  r.rejected = number("rejected");
  r.first_fault = root.Get("first_fault").String();
  const auto counts = [&](std::string_view key, std::map<std::string, int64_t>& out) {
    for (const auto& [name, n] : root.Get(key).Members())
      out[std::string(name)] = n.Int().value_or(0);
  };
  counts("repairs", r.repairs);
  counts("reasons", r.reasons);
  for (const JsonValue id : root.Get("trace_ids").Elements()) {
    if (auto parsed = ParseTraceId(id.String()); parsed.ok()) r.trace_ids.push_back(*parsed);
  }
  return r;
}

void AddImportReport(const ImportReport& one, ImportReport& total) {
  total.files += one.files;
  total.spans += one.spans;
  total.events += one.events;
  total.messages += one.messages;
  total.duplicates += one.duplicates;
  total.rejected += one.rejected;
  if (total.first_fault.empty()) total.first_fault = one.first_fault;
  for (const auto& [name, n] : one.repairs) total.repairs[name] += n;
  for (const auto& [name, n] : one.reasons) total.reasons[name] += n;
}

std::string ImportReportText(const ImportReport& r) {
  const auto Count = [](int64_t count, std::string_view one) {
    return CountOf(static_cast<uint64_t>(count), one);
  };
  std::string out = fmt::format("{} of {} from {}", Count(r.spans, "span"),
                                Count(r.traces, "trace"), Count(r.files, "file"));
  if (r.messages != 0) out += ", inferred from " + Count(r.messages, "message");
  if (r.events != r.spans) out += ", " + Count(r.events - r.spans, "other event");
  if (r.duplicates != 0) out += "; " + Count(r.duplicates, "duplicate") + " skipped";
  if (r.rejected != 0) out += fmt::format("; {} rejected", r.rejected);
  out += "\n";
  if (!r.first_fault.empty()) out += fmt::format("  first error: {}\n", r.first_fault);
  for (const auto& [name, n] : r.reasons) out += fmt::format("  rejected  {:<24} {}\n", name, n);
  for (const auto& [name, n] : r.repairs) out += fmt::format("  repaired  {:<24} {}\n", name, n);
  if (!r.trace_ids.empty())
    out += fmt::format("next: wherefore trace {}\n", ToHex(r.trace_ids.front()));
  return out;
}

}  // namespace wf::pipeline
