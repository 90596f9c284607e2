#include <algorithm>
#include <numeric>
#include <tuple>

#include "model/repair_passes.h"

namespace wf {
namespace {

// Units that are one execution: joined by parentage or by recorded edges. Links join nothing, they only point.
std::vector<uint32_t> JoinedUnits(const Trace& trace) {
  std::vector<uint32_t> up(trace.units.size());
  std::iota(up.begin(), up.end(), 0);
  const auto top = [&](uint32_t u) {
    while (up[u] != u) u = up[u] = up[up[u]];
    return u;
  };
  for (const Block& block : trace.blocks) {
    if (block.parent != kNone) up[top(block.unit)] = top(trace.blocks[block.parent].unit);
  }
  for (const Edge& edge : trace.edges) {
    if (edge.type == EdgeType::kLink) continue;
    const auto unit = [&](uint32_t point) { return trace.blocks[trace.points[point].block].unit; };
    up[top(unit(edge.from))] = top(unit(edge.to));
  }
  for (uint32_t u = 0; u < up.size(); ++u) up[u] = top(u);
  return up;
}

void NoteSeveralRoots(BuildState& state) {
  Trace& trace = state.trace;
  if (trace.roots.size() < 2) return;
  const std::vector<uint32_t> joined = JoinedUnits(trace);
  const uint32_t main = joined[trace.blocks[trace.roots[0]].unit];
  for (size_t i = 1; i < trace.roots.size(); ++i) {
    const Block& root = trace.blocks[trace.roots[i]];
    if (joined[root.unit] != main)
      state.Record(ElementKind::kBlock, root.id, RepairPass::kSeveralRoots, {}, {});
  }
}

// Late: received more than kLateAfter after a trace that was whole by then (it had a root and every parent), so that
// it had been built and had to be built again. A root that arrives last is no late event: nothing was whole before.
void NoteLateEvents(BuildState& state, const std::vector<uint32_t>& rows) {
  const EventBatch& events = state.events;
  if (events.received_rows.empty() || rows.empty()) return;
  std::vector<std::pair<Nanos, uint32_t>> received;
  received.reserve(rows.size());
  Nanos first = INT64_MAX, last = INT64_MIN;
  for (const uint32_t row : rows) {
    first = std::min(first, events.received_of(row));
    last = std::max(last, events.received_of(row));
  }
  if (SaturatingSub(last, first) <= kLateAfter) return;
  for (const uint32_t row : rows) received.emplace_back(events.received_of(row), row);
  std::sort(received.begin(), received.end());

  IdMap known;
  std::vector<uint64_t> awaited;  // parents not yet received
  bool root = false;
  for (size_t i = 0; i < received.size(); ++i) {
    if (i > 0 && SaturatingSub(received[i].first, received[i - 1].first) > kLateAfter) {
      awaited.erase(std::remove_if(awaited.begin(), awaited.end(),
                                   [&](uint64_t id) { return known.Find(id) != kNone; }),
                    awaited.end());
      if (root && awaited.empty()) {
        const Nanos whole = received[i - 1].first;
        for (; i < received.size(); ++i) {
          state.Record(ElementKind::kBlock, events.id1[received[i].second], RepairPass::kLate,
                       RepairValue::Time(whole), RepairValue::Time(received[i].first));
        }
        state.trace.rebuilt = true;
        return;
      }
    }
    const uint32_t row = received[i].second;
    known.Insert(events.id1[row], row);
    if (events.type[row] != EventType::kSpan) {
      root = true;
    } else if (events.id2[row] == 0) {
      root = true;
    } else if (known.Find(events.id2[row]) == kNone) {
      awaited.push_back(events.id2[row]);
    }
  }
}

}  // namespace

void JudgeCompleteness(BuildState& state, const std::vector<uint32_t>& rows) {
  Trace& trace = state.trace;
  NoteSeveralRoots(state);
  NoteLateEvents(state, rows);

  Nanos newest = INT64_MIN;
  for (const uint32_t row : rows) newest = std::max(newest, state.events.received_of(row));
  const Nanos now = state.options.now_ns;
  const bool may_still_come = now != 0 && SaturatingSub(now, newest) < kStillComing;
  for (Missing& missing : trace.missing) missing.may_still_come = may_still_come;
  std::sort(trace.missing.begin(), trace.missing.end(), [](const Missing& a, const Missing& b) {
    return std::tie(a.what, a.id) < std::tie(b.what, b.id);
  });
  std::stable_sort(trace.repairs.begin(), trace.repairs.end(),
                   [](const Repair& a, const Repair& b) {
                     return std::tie(a.pass, a.element) < std::tie(b.pass, b.element);
                   });
  trace.complete = trace.missing.empty() && !trace.roots.empty() &&
                   trace.repair_counts[static_cast<size_t>(RepairPass::kSeveralRoots)] == 0;
}

}  // namespace wf
