#include "answer/recording/opened_recording.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "recorder/reader/op_names.h"

namespace wf::answer {
namespace {

// Whether the recorded process is still there: not only another one with its number, which would have begun later.
bool StillRuns(const recorder::Recording& recording) {
  if (recording.complete || recording.pid == 0) return false;
  std::FILE* const file = std::fopen(fmt::format("/proc/{}/stat", recording.pid).c_str(), "re");
  if (file == nullptr) return false;
  char line[1024] = {};
  const size_t size = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  // The name, in brackets, may hold anything; what follows its last bracket are the state and 18 numbers before the time
  // of its start, in ticks since boot.
  const std::string_view text(line, size);
  const size_t close = text.rfind(')');
  if (close == std::string_view::npos) return false;
  char state = 0;
  unsigned long long ticks = 0;
  if (std::sscanf(
          line + close + 1,
          " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
          &state, &ticks) != 2 ||
      state == 'Z' || state == 'X')
    return false;
  timespec boot{}, now{};
  if (clock_gettime(CLOCK_BOOTTIME, &boot) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0)
    return false;
  const double age = static_cast<double>(boot.tv_sec) -
                     static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  const double recorded_ago =
      static_cast<double>(now.tv_sec) - static_cast<double>(recording.started_unix_ns) / 1e9;
  constexpr double kSlack = 3;  // clocks are read apart, and rounded
  return age + kSlack >= recorded_ago;
}

}  // namespace

OpenedRecording::OpenedRecording(recorder::Recording recording)
    : recording_(std::move(recording)), running_(StillRuns(recording_)) {}

const recorder::Clocks& OpenedRecording::clocks() {
  if (!clocks_) clocks_ = recorder::Clocks::Compute(recording_);
  return *clocks_;
}

const std::vector<lineage::SyncEdge>& OpenedRecording::sync_edges() {
  if (!sync_edges_) sync_edges_ = lineage::SyncEdges(recording_);
  return *sync_edges_;
}

recorder::Symbols& OpenedRecording::symbols() {
  if (!symbols_) symbols_ = std::make_unique<recorder::Symbols>(recording_);
  return *symbols_;
}

Result<const lineage::DataFlow*> OpenedRecording::data_flow() {
  if (!data_flow_) {
    WF_ASSIGN(pages_, lineage::PageIndex::Build(recording_));
    data_flow_ = std::make_unique<lineage::DataFlow>(recording_, clocks(), *pages_);
  }
  return data_flow_.get();
}

Result<const lineage::ByteFlows*> OpenedRecording::byte_flows() {
  if (!byte_flows_) {
    WF_TRY(data_flow());
    byte_flows_ = lineage::ByteFlows::Find(recording_, clocks(), *pages_);
  }
  return &*byte_flows_;
}

Status OpenedRecording::Require(recorder::Depth depth) const {
  if (recording_.has(depth)) return {};
  const char* const name = depth == recorder::kData ? "data" : "control";
  return BadInput(fmt::format("{}: not recorded at {} depth", recording_.file, name),
                  fmt::format("record it again: wherefore record --{} -o F.cpg -- PROG", name));
}

Result<recorder::SubId> OpenedRecording::FindSub(const std::string& text) const {
  const auto parsed = recorder::ParseSubName(text);
  if (!parsed)
    return BadInput(text + ": is not a sub-computation", "write THREAD.INDEX, as in 0.3");
  const recorder::SubId sub = recording_.Find(parsed->first, parsed->second);
  if (sub != recorder::kNone) return sub;
  std::string hint = fmt::format("there are threads 0 to {}", recording_.threads.size() - 1);
  if (recording_.threads.empty()) hint = "it has no threads";
  if (parsed->first < recording_.threads.size())
    hint = fmt::format("thread {} has {} sub-computations, from {}.{}", parsed->first,
                       recording_.threads[parsed->first].subs.size(), parsed->first,
                       recording_.threads[parsed->first].first_index);
  return NotFound(fmt::format("{}: no sub-computation {}", recording_.file, text), hint);
}

std::string_view OpenedRecording::OpOf(const recorder::SubComputation& sub) const {
  if (sub.op == recorder::Op::kNone && sub.end_ns == recorder::kNotEnded && !running_)
    return recorder::NameOf(recorder::Op::kKilled);
  return recorder::NameOf(sub.op);
}

const recorder::SitePlace& OpenedRecording::SiteOf(const recorder::SubComputation& sub) {
  return symbols().Site(sub.site, sub.end_ns);
}

std::string OpenedRecording::ObjectLabel(uint32_t object) {
  if (object == recorder::kNone) return {};
  const recorder::ObjectFacts& facts = recording_.objects[object];
  std::string kind(recorder::NameOf(facts.kind));
  if (kind.empty()) kind = "object";
  if (facts.kind == recorder::ObjectKind::kThread && facts.thread != recorder::kNoThread)
    return fmt::format("thread {}", facts.thread);
  const auto symbol = symbols().VariableAt(facts.address);
  return fmt::format("{} {}", kind, symbol ? *symbol : HexAddress(facts.address));
}

std::string HexAddress(uint64_t address) { return fmt::format("0x{:x}", address); }
std::string PageAddress(uint64_t page) { return HexAddress(page * recorder::kPageBytes); }

std::vector<std::string_view> DepthNames(const recorder::Recording& recording) {
  std::vector<std::string_view> out{"schedule"};
  if (recording.has(recorder::kData)) out.push_back("data");
  if (recording.has(recorder::kControl)) out.push_back("control");
  return out;
}

void WriteText(JsonWriter& json, std::string_view key, const std::optional<std::string>& text) {
  json.Key(key);
  if (text)
    json.String(*text);
  else
    json.Null();
}

void WriteSite(JsonWriter& json, const recorder::SitePlace& site) {
  json.BeginObject();
  WriteText(json, "function", site.function);
  WriteText(json, "file", site.file);
  json.Key("line");
  if (site.line)
    json.Uint(*site.line);
  else
    json.Null();
  WriteText(json, "module", site.module);
  json.Key("offset");
  if (site.offset)
    json.Uint(*site.offset);
  else
    json.Null();
  json.EndObject();
}

std::string SiteText(const recorder::SitePlace& site) {
  const auto last_part = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  std::string out = site.function.value_or("");
  if (site.file) {
    if (!out.empty()) out += " at ";
    out += fmt::format("{}:{}", last_part(*site.file), site.line.value_or(0));
  } else if (site.module) {
    if (!out.empty()) out += " in ";
    out += last_part(*site.module);
    if (site.offset) out += fmt::format("+0x{:x}", *site.offset);
  }
  return out;
}

}  // namespace wf::answer
