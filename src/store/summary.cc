#include "store/summary.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "store/match.h"

namespace wf::store {
namespace {

struct Root {
  bool real = false;
  Nanos start = 0, end = 0;
  uint64_t id = 0;
  size_t row = 0;  // of a real one
};

bool Before(const Root& a, const Root& b) {
  if (a.real != b.real) return a.real;
  if (a.start != b.start) return a.start < b.start;
  if (a.end != b.end) return a.end > b.end;
  return a.id < b.id;
}

void SummarizeRawEvents(const EventBatch& b, size_t begin, size_t end, TraceSummary& out) {
  Nanos last = b.start_ns[begin];
  size_t named = begin;
  std::unordered_map<uint64_t, int> open_units;
  std::unordered_map<uint64_t, size_t> unit_rows;
  bool begun = false;
  for (size_t i = begin; i < end; ++i) {
    last = std::max(last, b.start_ns[i]);
    if (b.type[i] == EventType::kBlockBegin) {
      if (out.spans++ == 0) named = i;  // the first block is what the model shows as the root
    } else if (b.type[i] == EventType::kUnitBegin) {
      if (!begun && out.spans == 0) named = i;
      begun = true;
      unit_rows.emplace(b.id1[i], i);
      ++open_units[b.id1[i]];
    } else if (b.type[i] == EventType::kUnitEnd) {
      --open_units[b.id1[i]];
    }
  }
  out.service = b.str(b.processes[b.process[named]].service);
  out.name = b.str(b.name[named]);
  // A unit tells once where it runs; its blocks need not repeat it.
  if (const auto unit = unit_rows.find(b.id2[named]);
      out.service.empty() && unit != unit_rows.end())
    out.service = b.str(b.processes[b.process[unit->second]].service);
  out.start_ns = b.start_ns[begin];
  out.duration_ns = SaturatingSub(last, out.start_ns);
  out.complete = begun && std::all_of(open_units.begin(), open_units.end(),
                                      [](const auto& u) { return u.second == 0; });
}

}  // namespace

std::vector<size_t> TraceBounds(const EventBatch& batch) {
  std::vector<size_t> bounds;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (i == 0 || batch.trace_id(i) != batch.trace_id(i - 1)) bounds.push_back(i);
  }
  bounds.push_back(batch.size());
  return bounds;
}

TraceSummary Summarize(const EventBatch& b, size_t begin, size_t end) {
  WF_CHECK(begin < end);
  TraceSummary out;
  out.trace_id = b.trace_id(begin);
  std::unordered_set<uint64_t> ids;
  for (size_t i = begin; i < end; ++i) {
    if (b.type[i] == EventType::kSpan) ids.insert(b.id1[i]);
  }
  if (ids.empty()) {
    SummarizeRawEvents(b, begin, end, out);
    return out;
  }

  bool all_ended = true;
  Nanos last = INT64_MIN;
  std::vector<Root> roots;
  std::unordered_map<uint64_t, size_t> stand_ins;  // missing parent → its place in roots
  size_t earliest = end;                           // the first span
  // Start and duration are of all events, as the kept summaries that choose candidates have them.
  out.start_ns = b.start_ns[begin];
  for (size_t i = begin; i < end; ++i) {
    const Nanos start = b.start_ns[i], span_end = RepairedEnd(b, i);
    last = std::max(last, span_end);
    if (b.type[i] == EventType::kBlockBegin) ++out.spans;
    if (b.type[i] != EventType::kSpan) continue;
    if (earliest == end) earliest = i;
    ++out.spans;
    if (b.status[i] == SpanStatus::kError) ++out.errors;
    if ((b.marks[i] & kHasEnd) == 0) all_ended = false;
    if (b.id2[i] == 0) {
      roots.push_back({true, start, span_end, b.id1[i], i});
    } else if (ids.count(b.id2[i]) == 0) {
      const auto [it, added] = stand_ins.emplace(b.id2[i], roots.size());
      if (added) roots.push_back({false, start, span_end, b.id2[i], 0});
      Root& root = roots[it->second];
      root.start = std::min(root.start, start);
      root.end = std::max(root.end, span_end);
    }
  }
  out.duration_ns = SaturatingSub(last, out.start_ns);
  out.complete = all_ended && roots.size() == 1 && roots[0].real;
  if (roots.empty()) roots.push_back({true, b.start_ns[earliest], 0, b.id1[earliest], earliest});
  const Root& main = *std::min_element(roots.begin(), roots.end(), Before);
  if (main.real) {
    out.service = b.str(b.processes[b.process[main.row]].service);
    out.name = b.str(b.name[main.row]);
  } else {
    out.service = "unknown";
    out.name = "missing";
  }
  return out;
}

}  // namespace wf::store
