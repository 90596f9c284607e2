// BuildState: what the stages of trace_builder.cc share while one trace is built. Private to the builder, its
// handlers and its passes.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/clock_alignment.h"
#include "model/event_home.h"
#include "model/trace.h"
#include "model/trace_builder.h"

namespace wf {

struct BuildState {
  BuildState(const EventBatch& events, const std::vector<uint32_t>& rows,
             const BuildOptions& options, Trace& trace);

  const EventBatch& events;
  const BuildOptions& options;
  Trace& trace;

  IdMap block_by_id, unit_by_id, point_by_id, edge_by_id, queue_units;
  std::vector<uint64_t> parent_ids;       // per block: the parent as recorded, until LinkParents
  std::vector<uint64_t> unit_parent_ids;  // per unit: the block that caused it, as recorded
  // Blocks that share a span id with an earlier one, by id; the earlier one is first. And what they contain: equal
  // content is one event.
  std::unordered_map<uint64_t, std::vector<uint32_t>> same_id;
  std::unordered_set<uint64_t> same_id_content;
  // Open blocks of each recorded unit, innermost last.
  std::unordered_map<uint32_t, std::vector<uint32_t>> open_blocks;
  // Events whose element can only be made when all blocks are known, in handling order.
  std::vector<uint32_t> point_rows, annotate_rows, edge_rows, rpc_rows, queue_rows, lock_rows,
      task_rows, trace_start_rows;
  std::unordered_map<std::string, int64_t> unknown;
  // Per block: recorded edges tell how it was caused, parentage adds none.
  std::vector<uint8_t> entered;
  std::vector<uint32_t> order;  // blocks, parents before children (after BreakCycles)

  // Span attributes that shape the model; kNone when no span of the batch has them.
  uint32_t thread_key = kNone, async_key = kNone;
  uint32_t last_thread = 0;  // string code of last_thread_id
  int64_t last_thread_id = 0;

  // Clocks.
  // Per batch process; nullptr: its times are taken as they are.
  std::vector<const HostClock*> process_clock;
  std::vector<const HostClock*> known_clock;  // per Trace process, whatever clock was asked for
  std::vector<uint32_t> process_index;        // batch process → Trace::processes
  Nanos Align(uint32_t row_process, Nanos recorded) const {
    const HostClock* clock = process_clock[row_process];
    return clock == nullptr ? recorded : clock->Align(recorded);
  }
  EventHome home;
  uint32_t ProcessOf(uint32_t row) const {
    return home.ProcessOf(row);
  }  // index into the batch's processes
  uint32_t host_of(const Block& block) const {
    return block.process == kNone ? 0 : events.processes[trace.processes[block.process]].host;
  }
  // Possible error of a time in `block` against another host's.
  Nanos ClockError(const Block& block) const;

  // Elements. A new block has its two points; the caller fills the rest.
  uint32_t AddBlock(uint64_t id, uint32_t row);
  uint32_t AddPoint(uint32_t block, PointType type, Nanos raw_time, Nanos time, uint64_t id);
  // A point of type kOfEvent for `row`, in `block`, with an id of its own made from block, type and row content.
  uint32_t AddEventPoint(uint32_t block, uint32_t row);
  uint32_t AddEdge(uint32_t from, uint32_t to, EdgeType type, bool blocking, uint64_t id = 0);
  void Enter(
      uint32_t
          edge);  // notes in `entered` that this recorded edge tells how its receiver was caused
  uint32_t AddUnit(uint64_t id, uint32_t row);  // row may be kNone: an inferred unit
  // The block of this id; made up when no event began it (it covers what happened in it).
  uint32_t BlockFor(uint64_t id, uint32_t row);
  uint32_t UnitFor(uint64_t id, uint32_t row);
  // A block that no event began or is named by: service `unknown`, name `missing`, in a unit of its own.
  uint32_t AddStandIn(uint64_t id);

  // Decodes the annotations of event `row` onto an element.
  void Annotate(ElementKind element, uint32_t index, uint32_t row);
  void AddCounter(ElementKind element, uint32_t index, std::string_view name, std::string_view unit,
                  int64_t value);
  // The event's name, else its annotation label:NAME_OF_LABEL; a string code, 0 for none.
  uint32_t Label(uint32_t row, std::string_view label) const;
  uint32_t NameOf(uint32_t row) const;
  uint32_t NameOrIdOf(uint32_t row) const;  // else the text its id was made from

  void Record(ElementKind kind, uint64_t element, RepairPass pass, RepairValue before,
              RepairValue after);
  void RecordMissing(MissingWhat what, uint64_t id);
};

// Ids of what has none of its own: a hash of the source's id and a role, never 0.
uint64_t DeriveId(uint64_t source, uint64_t role);

enum IdRole : uint64_t {
  kRoleBegin = 1,
  kRoleEnd,
  kRoleEvent,
  kRoleUnit,
  kRoleEdge,
  kRoleDuplicate,
  kRoleWait,
  kRoleWork,
  kRoleHold,
  kRoleQueueUnit,
  kRoleNoBlock,
  kRoleNoUnit,
};

inline SpanId AsSpanId(uint64_t id) { return SpanId{id}; }

}  // namespace wf
