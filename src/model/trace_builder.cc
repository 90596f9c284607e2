#include "model/trace_builder.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "model/event_handlers.h"
#include "model/repair_passes.h"

namespace wf {
namespace {

using wherefore::kEventTypeCount;

constexpr EventHandler kHandlers[] = {
    HandleSpan,        // span
    HandleUnitBegin,   // unit_begin
    HandleUnitEnd,     // unit_end
    HandleBlockBegin,  // block_begin
    HandleBlockEnd,    // block_end
    HandlePoint,       // point
    HandleAnnotate,    // annotate
    HandleEdge,        // edge_begin
    HandleEdge,        // edge_end
    HandleRpc,         // rpc_cs
    HandleRpc,         // rpc_sr
    HandleRpc,         // rpc_ss
    HandleRpc,         // rpc_cr
    HandleRpc,         // rpc_cq
    HandleQueue,       // queue_put
    HandleQueue,       // queue_take
    HandleQueue,       // queue_done
    HandleLock,        // lock_request
    HandleLock,        // lock_acquire
    HandleLock,        // lock_release
    HandleTask,        // task_create
    HandleTask,        // task_run
    HandleTraceStart,  // trace_start
};
static_assert(std::size(kHandlers) == kEventTypeCount, "one handler per event type");

// (time, id) order; what ties is told apart by all else, so that "first" never means "arrived first".
bool RowBefore(const EventBatch& events, uint32_t a, uint32_t b) {
  if (events.start_ns[a] != events.start_ns[b]) return events.start_ns[a] < events.start_ns[b];
  if (events.id1[a] != events.id1[b]) return events.id1[a] < events.id1[b];
  if (events.type[a] != events.type[b]) return events.type[a] < events.type[b];
  if (a == b) return false;
  return ContentHash(events, a) < ContentHash(events, b);
}

// Spans, then the other events.
std::vector<uint32_t> CanonicalOrder(const EventBatch& events, std::vector<uint32_t> rows) {
  const auto is_span = [&](uint32_t row) { return events.type[row] == EventType::kSpan; };
  const auto others = std::stable_partition(rows.begin(), rows.end(), is_span);
  const auto before = [&](uint32_t a, uint32_t b) { return RowBefore(events, a, b); };
  if (!std::is_sorted(rows.begin(), others, before)) std::sort(rows.begin(), others, before);
  if (!std::is_sorted(others, rows.end(), before)) std::sort(others, rows.end(), before);
  return rows;
}

// Events other than spans, unit by unit; within a unit by sequence number, then time. Rows without a number keep
// their place by time; the numbered ones are put in order of their numbers into the places they hold together.
void OrderUnitEvents(const EventBatch& events, std::vector<uint32_t>& rows) {
  struct Home {
    uint64_t unit;
    Nanos begin;
  };
  std::vector<Home> homes;
  IdMap home_of_block;
  for (const uint32_t row : rows) {
    if (events.type[row] != EventType::kBlockBegin) continue;
    if (home_of_block.Insert(events.id1[row], static_cast<uint32_t>(homes.size())) ==
        homes.size()) {
      homes.push_back({events.id2[row], events.start_ns[row]});
    }
  }
  struct Key {
    uint64_t unit;
    Nanos time;
    int rank;
    uint64_t id1, id2;
    uint32_t row;
  };
  std::vector<Key> keys;
  for (const uint32_t row : rows) {
    const EventType type = events.type[row];
    const uint32_t home = home_of_block.Find(
        type == EventType::kBlockBegin || type == EventType::kBlockEnd ? events.id1[row]
                                                                       : events.id2[row]);
    uint64_t unit = home == kNone ? events.id2[row] : homes[home].unit;
    // At one instant what ends makes room for what begins; a block of no length still begins before it ends.
    int rank = 3;
    switch (type) {
      case EventType::kUnitBegin:
        unit = events.id1[row];
        rank = 1;
        break;
      case EventType::kUnitEnd:
        unit = events.id1[row];
        rank = 5;
        break;
      case EventType::kTraceStart:
        unit = events.id1[row];
        break;
      case EventType::kBlockBegin:
        unit = events.id2[row];
        rank = 2;
        break;
      case EventType::kBlockEnd:
        rank = home != kNone && homes[home].begin == events.start_ns[row] ? 4 : 0;
        break;
      default:
        break;
    }
    keys.push_back({unit, events.start_ns[row], rank, events.id1[row], events.id2[row], row});
  }
  std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(a.unit, a.time, a.rank, a.id1, a.id2) <
           std::tie(b.unit, b.time, b.rank, b.id1, b.id2);
  });
  std::vector<size_t> places, numbered;
  for (size_t begin = 0, end; begin < keys.size(); begin = end) {
    places.clear();
    for (end = begin; end < keys.size() && keys[end].unit == keys[begin].unit; ++end) {
      if (events.sequence_of(keys[end].row) != kNoSequence) places.push_back(end);
    }
    std::vector<Key> in_order;
    for (const size_t at : places) in_order.push_back(keys[at]);
    std::stable_sort(in_order.begin(), in_order.end(), [&](const Key& a, const Key& b) {
      return events.sequence_of(a.row) < events.sequence_of(b.row);
    });
    for (size_t i = 0; i < places.size(); ++i) keys[places[i]] = in_order[i];
  }
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = keys[i].row;
}

// The order in which rows are handled, given in canonical order: spans, then the other events unit by unit.
std::vector<uint32_t> HandlingOrder(const EventBatch& events, std::vector<uint32_t> rows) {
  const auto others = std::find_if(
      rows.begin(), rows.end(), [&](uint32_t row) { return events.type[row] != EventType::kSpan; });
  if (others == rows.end()) return rows;
  std::vector<uint32_t> unit_events(others, rows.end());
  OrderUnitEvents(events, unit_events);
  std::copy(unit_events.begin(), unit_events.end(), others);
  return rows;
}

// Two rows may be one event received twice (a live batch, a resend); spans are told apart by HandleSpan.
std::vector<uint32_t> DropDoubles(const BuildState& state, std::vector<uint32_t> rows) {
  const EventBatch& events = state.events;
  std::vector<uint32_t> kept;
  kept.reserve(rows.size());
  for (const uint32_t row : rows) {
    // Equal rows are neighbours but for sequence numbers, which they share too.
    if (events.type[row] != EventType::kSpan && !kept.empty()) {
      const uint32_t last = kept.back();
      if (events.type[last] == events.type[row] && events.id1[last] == events.id1[row] &&
          events.start_ns[last] == events.start_ns[row] &&
          ContentHash(events, last) == ContentHash(events, row)) {
        ++state.trace.doubles;
        continue;
      }
    }
    kept.push_back(row);
  }
  return kept;
}

void DescribeClocks(BuildState& state) {
  Trace& trace = state.trace;
  trace.clock = state.options.clock;
  // The two least certain hosts bound how far any two times of this trace may be out of step.
  Nanos worst = 0, second = 0;
  std::vector<const HostClock*> told;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const HostClock* clock = state.known_clock[p];
    if (clock == nullptr || std::find(told.begin(), told.end(), clock) != told.end()) continue;
    told.push_back(clock);
    const Nanos error = clock->Error(trace.start_ns);
    if (error > worst)
      second = worst, worst = error;
    else
      second = std::max(second, error);
    // What was applied: the windows around this trace.
    for (const ClockOffset& offset : clock->offsets()) {
      const bool before_end = offset.from_ns <= SaturatingAdd(trace.end_ns, kClockWindow);
      const bool after_start = SaturatingAdd(offset.from_ns, 2 * kClockWindow) >= trace.start_ns;
      if (before_end && after_start) trace.clocks.push_back(offset);
    }
  }
  trace.clock_error_ns = SaturatingAdd(worst, second);
  std::sort(trace.clocks.begin(), trace.clocks.end(),
            [](const ClockOffset& a, const ClockOffset& b) {
              return std::tie(a.host, a.from_ns) < std::tie(b.host, b.from_ns);
            });
}

}  // namespace

void HandleUnknown(BuildState& state, uint32_t row) {
  uint32_t code = state.Label(row, "wherefore.type");
  if (code == 0) code = state.events.name[row];
  const std::string_view name = state.trace.str(code);
  ++state.unknown[name.empty() ? "unknown" : std::string(name)];
}

Trace BuildTrace(const EventBatch& events, std::vector<uint32_t> rows,
                 const BuildOptions& options) {
  Trace trace;
  trace.events = &events;
  if (!rows.empty()) trace.id = events.trace_id(rows[0]);
  rows = CanonicalOrder(events, std::move(rows));
  BuildState state(events, rows, options, trace);
  rows = HandlingOrder(events, std::move(rows));
  rows = DropDoubles(state, std::move(rows));
  trace.blocks.reserve(rows.size());
  trace.points.reserve(rows.size() * 2);
  state.block_by_id.Reserve(rows.size());

  // 1. Events → elements, one handler per type.
  const int64_t doubles_before = trace.doubles;
  for (const uint32_t row : rows) {
    const auto type = static_cast<size_t>(events.type[row]);
    (type < kEventTypeCount ? kHandlers[type] : HandleUnknown)(state, row);
  }
  trace.event_count = rows.size() - static_cast<size_t>(trace.doubles - doubles_before);
  trace.unknown_events.assign(state.unknown.begin(), state.unknown.end());
  std::sort(trace.unknown_events.begin(), trace.unknown_events.end());

  // 2. What needs all blocks to be known.
  GiveOwnIds(state);  // ids used twice; from here on an id names one block
  RelateRpcs(state);  // may make callee blocks that other events name
  PlacePoints(state);
  RelateEdges(state);
  RelateQueues(state);
  RelateLocks(state);
  RelateTasks(state);

  // 3. The tree. From here on no recorded block is added.
  AdoptUnits(state);
  LinkParents(state);  // stand-ins for parents that are not there
  BreakCycles(state);

  // 4. Times, units, edges of parentage.
  MendTimes(state);
  AssignUnits(state);
  RelateSpans(state);
  MendPoints(state);
  MendUnits(state);
  PlaceAnnotations(state);

  // 5. Order, completeness, invariants. No element is added or moved.
  LayOut(state);
  JudgeCompleteness(state, rows);
  DescribeClocks(state);
  CheckInvariants(state);
  return trace;
}

Trace BuildTrace(const EventBatch& events, const BuildOptions& options) {
  std::vector<uint32_t> rows(events.size());
  std::iota(rows.begin(), rows.end(), 0);
  return BuildTrace(events, std::move(rows), options);
}

}  // namespace wf
