// Trace: the modeled trace (Canopy §3.4): execution units, blocks, points and edges, with what was repaired and what
// is missing. Built from events by BuildTrace (trace_builder.h), never stored.
//
// Elements lie in flat vectors and name each other by index; nothing is allocated per element. Canonical order, so
// that the same events give the same trace whatever order they came in: units by (start, id), blocks by (start, id),
// points by (time, id), edges by (time of from, from, to, type).
//
// Lifetime: a Trace borrows the EventBatch it was built from (names, attributes); the batch must outlive it.
// Thread safety: built by one thread, then only read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "model/clock.h"
#include "model/event_batch.h"
#include "model/id_map.h"

namespace wf {

enum class BlockKind : uint8_t {
  kUnspecified = 0,
  kInternal,
  kServer,
  kClient,
  kProducer,
  kConsumer,  // as SpanKind
  kWait,      // in a queue, for a lock, or told to be one (wherefore.wait)
  kWork,      // from taking an item to completing it
  kHold,      // of a lock
};
std::string_view BlockKindName(BlockKind kind);

enum class ElementKind : uint8_t { kUnit, kBlock, kPoint, kEdge };

// Bits of Block::marks.
constexpr uint8_t kBlockStandIn = 1;  // no event of its own: stands where a block must have been
constexpr uint8_t kBlockAsync = 2;    // its parent does not wait for it
constexpr uint8_t kBlockNoStart = 4;  // start was not recorded
constexpr uint8_t kBlockNoEnd = 8;    // end was not recorded
constexpr uint8_t kBlockRepaired = 16;
// A span: its unit follows from its parent, process and thread.
constexpr uint8_t kBlockUnlinked = 32;

// A high-level computational task, about one thread of execution.
struct Unit {
  uint64_t id = 0;
  uint32_t name = 0, service = 0, thread = 0, host = 0;  // string codes (Trace::str); 0: none
  uint32_t process = kNone;                              // index into Trace::processes
  uint32_t parent_block = kNone;                         // the block that caused it
  Nanos start_ns = 0, end_ns = 0, raw_start_ns = 0, raw_end_ns = 0;
  Nanos received_ns = 0;
  // When this unit decided to trace (trace_start); INT64_MIN: it did not.
  Nanos trace_start_ns = INT64_MIN;
  Source source = Source::kRecorded;
  float probability = 1;
};

// A segment of computation within a unit.
struct Block {
  uint64_t id = 0;
  Nanos start_ns = 0, end_ns = 0;          // by the clock asked for
  Nanos raw_start_ns = 0, raw_end_ns = 0;  // by the recording host's clock, repaired alike
  Nanos received_ns = 0;
  uint32_t parent = kNone, unit = kNone;
  uint32_t begin_point = kNone, end_point = kNone;
  // The event that began it, for attributes, scope and links; kNone for a stand-in.
  uint32_t row = kNone;
  uint32_t process = kNone;                               // index into Trace::processes
  uint32_t name = 0, status_message = 0, tracestate = 0;  // string codes
  uint32_t thread = 0;
  uint32_t flags = 0;
  float probability = 1;
  BlockKind kind = BlockKind::kUnspecified;
  SpanStatus status = SpanStatus::kUnset;
  ParentRef reference = ParentRef::kNone;
  Source source = Source::kRecorded;
  uint8_t marks = 0;

  bool stand_in() const { return marks & kBlockStandIn; }
  bool async() const { return marks & kBlockAsync; }
  Nanos duration() const { return SaturatingSub(end_ns, start_ns); }
};

enum class PointType : uint8_t {
  kBegin,
  kEnd,
  kEvent,
  kOfEvent
};  // kOfEvent: named after Point::event

// An instant within a block.
struct Point {
  uint64_t id = 0;
  Nanos time_ns = 0, raw_time_ns = 0;
  uint32_t block = kNone;
  uint32_t name = 0;
  uint32_t attrs_begin = 0, attrs_end = 0;  // packed attributes in the batch's arena (span events)
  PointType type = PointType::kEvent;
  EventType event = EventType::kSpan;
};
std::string_view PointTypeName(const Point& point);

enum class EdgeType : uint8_t {
  kRequest,
  kResponse,  // remote call: begins, ends
  kCall,
  kReturn,  // parent and child in different units: begins, ends
  kOneWay,
  kLink,  // nobody waits
  kQueue,
  kDequeue,       // put → wait, wait → work
  kLock,          // previous release → acquisition
  kContinuation,  // created → run
  kRpcQueue,      // response read → response handled (Canopy figure 11 c, d)
  kJoin,
  kResource,  // load begun → loaded (the browser client)
  kEdge,      // any other, recorded as such; Edge::name may say what
};
std::string_view EdgeTypeName(EdgeType type);
// What an edge is called outside: its own name when the instrumentation gave one, "one_way" for links too.

// A causal relation between two points that nesting does not show.
struct Edge {
  uint64_t id = 0;
  uint32_t from = kNone, to = kNone;  // points
  uint32_t name = 0;  // string code of a type the instrumentation named; 0: EdgeTypeName
  float probability = 1;
  EdgeType type = EdgeType::kEdge;
  Source source = Source::kRecorded;
  bool blocking = false;  // the receiver waited for it
};

enum class AnnotationKind : uint8_t { kLabel, kMessage, kCounter, kSet, kStack };
std::string_view AnnotationKindName(AnnotationKind kind);

// Performance data on an element, decoded from an event's annotation key `label|message|counter|set|stack:NAME[:UNIT]`.
struct Annotation {
  ElementKind element = ElementKind::kBlock;
  AnnotationKind kind = AnnotationKind::kLabel;
  uint32_t index = kNone;  // of the element
  std::string_view name, unit;
  Value value;
};

// Each repair pass, in the order in which it runs. RepairPassName gives the name shown.
enum class RepairPass : uint8_t {
  kSharedSpanId,
  kDuplicateId,
  kMissingBlock,
  kMissingParent,
  kCycle,
  kMissingBegin,
  kMissingEnd,
  kEndBeforeStart,
  kMissingUnit,
  kStrayPoint,
  kHalfEdge,
  kNoResponse,
  kSeveralRoots,
  kLate,
};
constexpr size_t kRepairPasses = 14;
std::string_view RepairPassName(RepairPass pass);

// A value before or after a repair: nothing, an instant or an id.
struct RepairValue {
  enum class Type : uint8_t { kNothing, kTime, kId } type = Type::kNothing;
  int64_t value = 0;
  static RepairValue Time(Nanos ns) { return {Type::kTime, ns}; }
  static RepairValue Id(uint64_t id) { return {Type::kId, static_cast<int64_t>(id)}; }
  bool operator==(const RepairValue&) const = default;
};

struct Repair {
  uint64_t element = 0;
  ElementKind kind = ElementKind::kBlock;
  RepairPass pass = RepairPass::kMissingEnd;
  RepairValue before, after;
};

// Elements that events refer to but that no process sent.
enum class MissingWhat : uint8_t {
  kParent,
  kBegin,
  kEnd,
  kBlock,
  kUnit,
  kSend,
  kReceive,
  kCaller,
  kCallee,
  kElement
};
std::string_view MissingWhatName(MissingWhat what);
struct Missing {
  MissingWhat what = MissingWhat::kParent;
  uint64_t id = 0;
  bool may_still_come = false;
};

enum class Invariant : uint8_t {
  kNoCycle,
  kBlockInUnit,
  kPointInBlock,
  kEdgeEnds,
  kReceiveAfterSend
};
std::string_view InvariantName(Invariant invariant);
struct Violation {
  Invariant invariant = Invariant::kNoCycle;
  uint64_t element = 0;
};

enum class ClockMode : uint8_t { kAligned, kRaw };

struct Trace {
  TraceId id;
  const EventBatch* events = nullptr;
  StringTable own_strings;  // texts the batch does not have; their codes follow the batch's

  // Batch process indices, equal ones once, by (service, host, attributes).
  std::vector<uint32_t> processes;
  std::vector<Unit> units;
  std::vector<Block> blocks;
  std::vector<Point> points;
  std::vector<Edge> edges;
  std::vector<Annotation> annotations;  // by (element, index), in recorded order

  // Children of block b: children[children_begin[b] .. children_begin[b + 1]), by (start, id).
  std::vector<uint32_t> children_begin, children;
  std::vector<uint32_t> roots;  // blocks without parent, main root first, then by (start, id)

  std::vector<Repair> repairs;
  std::array<int64_t, kRepairPasses> repair_counts{};
  std::vector<Missing> missing;
  std::vector<Violation> violations;
  std::vector<std::pair<std::string, int64_t>> unknown_events;  // type → count, sorted
  size_t event_count = 0;                                       // distinct events it was built from
  int64_t doubles = 0;  // duplicates: events received twice, used once

  Nanos start_ns = 0, end_ns = 0;
  ClockMode clock = ClockMode::kAligned;
  Nanos clock_error_ns = 0;         // the greatest between any two hosts of this trace
  std::vector<ClockOffset> clocks;  // that were applied, of this trace's hosts
  bool complete = false;            // one root, nothing missing
  bool rebuilt = false;             // late events came after the rest was complete

  bool usable() const {
    return violations.empty();
  }  // false: kept and shown, not used for features
  uint32_t main_root() const { return roots.empty() ? kNone : roots[0]; }

  std::string_view str(uint32_t code) const {
    const auto from_batch = static_cast<uint32_t>(events->strings.size());
    return code < from_batch ? events->str(code) : own_strings.At(code - from_batch);
  }
  uint32_t Intern(std::string_view text);  // while building only

  std::string_view service(const Block& block) const { return str(units[block.unit].service); }
  std::string_view attrs(const Block& block) const {
    const bool is_span = block.row != kNone && events->type[block.row] == EventType::kSpan;
    return is_span ? events->attrs(block.row) : std::string_view();
  }
  std::string_view attrs(const Point& point) const {
    return events->Slice(point.attrs_begin, point.attrs_end);
  }
  std::string_view edge_type(const Edge& edge) const {
    return edge.name != 0 ? str(edge.name) : EdgeTypeName(edge.type);
  }
  // Annotations of one element.
  std::pair<const Annotation*, const Annotation*> annotations_of(ElementKind element,
                                                                 uint32_t index) const;
};

// Time of each block not covered by the blocks it waits for: its duration less the union of its blocking children,
// cut to it.
std::vector<Nanos> OwnTimes(const Trace& trace);

}  // namespace wf
