// `cpg F summary` and `cpg F snapshots`.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/lineage/consistent_cut.h"
#include "answer/frame/text_table.h"
#include "answer/recording/recording_answer.h"
#include "base/nanos.h"
#include "recorder/control/branch_count.h"
#include "recorder/reader/slot_table.h"

namespace wf::answer {
namespace {

struct Totals {
  uint64_t control = 0, sync = 0, data = 0;
  uint64_t inputs = 0, outputs = 0, denied = 0, reported = 0, pages = 0;
  int64_t wait_ns = 0, end_ns = 0;
  std::optional<uint64_t> branches;  // at control depth, where they need no decoding
};

Result<Totals> TotalsOf(OpenedRecording& opened) {
  const recorder::Recording& r = opened.recording();
  Totals out;
  for (const recorder::SubComputation& sub : r.subs) {
    if (sub.index > r.threads[sub.thread].first_index) ++out.control;
    out.wait_ns = SaturatingAdd(out.wait_ns, sub.wait_ns);
    out.end_ns =
        std::max(out.end_ns, sub.end_ns == recorder::kNotEnded ? sub.start_ns : sub.end_ns);
  }
  out.sync = opened.sync_edges().size();
  if (r.has(recorder::kData)) {
    WF_ASSIGN(const lineage::DataFlow* flow, opened.data_flow());
    out.data = lineage::CountDataEdges(*flow);
    for (const lineage::Span& span : flow->pages().spans())
      out.pages += span.accesses.empty() ? 0 : span.count;
  }
  if (r.has(recorder::kControl)) {
    WF_ASSIGN(out.branches, recorder::CountBranches(r.file));
  }
  for (const recorder::TransferFacts& transfer : r.transfers) {
    const bool denied = (transfer.flags & recorder::kDenied) != 0;
    if (denied) ++out.denied;
    if ((transfer.flags & recorder::kReported) != 0) ++out.reported;
    if (!denied) ++(transfer.output() ? out.outputs : out.inputs);
  }
  return out;
}

}  // namespace

Result<std::string> AnswerSummary(OpenedRecording& opened, RecordingFormat format) {
  const recorder::Recording& r = opened.recording();
  WF_ASSIGN(const Totals totals, TotalsOf(opened));
  const uint64_t disorder = opened.clocks().disorder();
  if (format == RecordingFormat::kJson) {
    JsonWriter json;
    json.BeginObject().Field("threads", uint64_t{r.threads.size()});
    json.Field("sub_computations", uint64_t{r.subs.size()}).Key("edges").BeginObject();
    json.Field("control", totals.control).Field("sync", totals.sync).Field("data", totals.data);
    json.EndObject().Field("complete", r.complete).Field("version", uint64_t{r.version});
    json.Key("depth").BeginArray();
    for (const std::string_view name : DepthNames(r)) json.String(name);
    json.EndArray().Field("started_unix_ns", r.started_unix_ns).Field("pid", uint64_t{r.pid});
    json.Field("duration_ns", totals.end_ns).Field("wait_ns", totals.wait_ns);
    json.Field("objects", uint64_t{r.objects.size()}).Field("pages", totals.pages);
    json.Field("inputs", totals.inputs).Field("outputs", totals.outputs);
    json.Field("denied", totals.denied).Field("reported", totals.reported);
    json.Field("allocations", uint64_t{r.allocations.size()});
    json.Field("forks", uint64_t{r.forks.size()}).Key("branches");
    if (totals.branches) {
      json.Uint(*totals.branches);
    } else {
      json.Null();
    }
    json.Key("crash");
    if (r.crash && r.crash->sub != recorder::kNone) {
      json.BeginObject().Field("signal", uint64_t{r.crash->signal});
      json.Field("sub_computation", opened.SubNameOf(r.crash->sub)).EndObject();
    } else {
      json.Null();
    }
    json.Key("lost").BeginObject();
    for (const auto& [name, count] : r.lost) json.Field(name, count);
    if (disorder > 0) json.Field("actions_without_order", disorder);
    json.EndObject().EndObject();
    return json.Take() + "\n";
  }
  std::string depth;
  for (const std::string_view name : DepthNames(r))
    depth += (depth.empty() ? "" : ", ") + std::string(name);
  std::string out = fmt::format("{}: {}{}\n", Printable(r.file), depth,
                                r.complete ? "" : "; the recording was cut off");
  out += fmt::format("  {}, {} in {}; {} spent waiting\n", CountOf(r.threads.size(), "thread"),
                     CountOf(r.subs.size(), "sub-computation"), FormatDuration(totals.end_ns),
                     FormatDuration(totals.wait_ns));
  out += fmt::format("  edges: {} control, {} sync, {} data\n", totals.control, totals.sync,
                     totals.data);
  out += fmt::format("  {}, {}, {}, {}\n", CountOf(r.objects.size(), "object"),
                     CountOf(totals.pages, "page"), CountOf(totals.inputs, "input"),
                     CountOf(totals.outputs, "output"));
  if (totals.branches) out += "  " + CountOf(*totals.branches, "branch", "branches") + "\n";
  if (totals.denied + totals.reported > 0)
    out +=
        fmt::format("  policy: {} outputs denied, {} reported\n", totals.denied, totals.reported);
  if (r.crash && r.crash->sub != recorder::kNone)
    out += fmt::format("  signal {} ended it in {}\n", r.crash->signal,
                       opened.SubNameOf(r.crash->sub));
  for (const auto& [name, count] : r.lost)
    out += fmt::format("  lost: {} {}\n", count, Printable(name));
  if (disorder > 0) out += "  lost: the order of " + CountOf(disorder, "action") + "\n";
  return out;
}

Result<recorder::Recording> RestrictedToSnapshot(OpenedRecording& opened, uint32_t number) {
  const recorder::Recording& r = opened.recording();
  for (const recorder::SnapshotFacts& snapshot : r.snapshots) {
    if (snapshot.number != number) continue;
    return lineage::Restricted(r, lineage::SnapshotCut(r, opened.clocks(), snapshot));
  }
  return NotFound(fmt::format("{}: no snapshot {}", r.file, number),
                  "wherefore cpg F snapshots lists them");
}

Result<std::string> AnswerSnapshots(const std::string& file, RecordingFormat format) {
  WF_ASSIGN(const recorder::ReadAt read, recorder::FromFile(file));
  WF_ASSIGN(const auto slots, recorder::ReadSlotTable(read, file));
  // Of a file of slots each sequence without a gap is a recording of its own.
  std::vector<std::optional<uint32_t>> runs{std::nullopt};
  if (slots) {
    const std::vector<uint32_t> last = slots->LastOfRuns();
    runs.assign(last.begin(), last.end());
  }
  JsonWriter json;
  json.BeginObject().Key("snapshots").BeginArray();
  TextTable table({"snapshot", "from", "until", "sub-computations"}, {0, 1, 2, 3});
  bool any = false;
  for (const std::optional<uint32_t>& run : runs) {
    recorder::ReadOptions options;
    options.snapshot = run;
    Result<recorder::Recording> recording = recorder::ReadRecording(file, options);
    // The recorder has used its slots again meanwhile.
    if (!recording.ok() && run && recording.error().code == ErrorCode::kNotFound) continue;
    if (!recording.ok()) return recording.error();
    OpenedRecording opened(std::move(*recording));
    const recorder::Recording& r = opened.recording();
    for (const recorder::SnapshotFacts& snapshot : r.snapshots) {
      const lineage::Cut cut = lineage::SnapshotCut(r, opened.clocks(), snapshot);
      json.BeginObject().Field("n", uint64_t{snapshot.number}).Key("cut").BeginArray();
      uint64_t count = 0;
      for (const uint32_t k : cut) {
        json.Uint(k);
        count += k;
      }
      json.EndArray().Field("start_ns", snapshot.start_ns).Field("end_ns", snapshot.end_ns);
      json.EndObject();
      table.Row({std::to_string(snapshot.number), FormatDuration(snapshot.start_ns),
                 FormatDuration(snapshot.end_ns), std::to_string(count)});
      any = true;
    }
  }
  json.EndArray();
  if (slots)
    json.Field("slots", uint64_t{slots->head.slots})
        .Field("overwritten", uint64_t{slots->head.overwritten});
  json.EndObject();
  if (format == RecordingFormat::kJson) return json.Take() + "\n";
  std::string out = any ? table.Print(TextWidth(), 3) : Printable(file) + ": has no snapshots\n";
  if (slots && slots->head.overwritten > 0)
    out += fmt::format("{} overwritten before they were released\n", slots->head.overwritten);
  return out;
}

}  // namespace wf::answer
