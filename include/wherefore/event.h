// The one definition of events: what instrumentation emits and what stores keep (Canopy §3.3,
// figure 3). C++17, no dependencies: programs that link libwherefore and the server both include
// it.
//
// An event carries a trace id, a type, two ids, an optional sequence number, a time in ns and
// annotations. What the two ids name depends on the type; the comments below are the contract. The
// numbers are stored: never renumber, only append. A reader that meets a type it does not know
// keeps it as kUnknown together with the name it came with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wherefore {

enum class EventType : uint8_t {
  // A whole span, as OTLP, Zipkin and Jaeger send it.  id1: the span (its block); id2: the parent
  // span, 0 for a root.
  kSpan = 0,

  // An execution unit: one process and thread at work.  id1: the unit; id2: the block that caused
  // it, 0 if none.
  kUnitBegin = 1,
  kUnitEnd = 2,  // id1: the unit

  // A segment of work within a unit.  id1: the block; id2: the unit it runs in.
  kBlockBegin = 3,
  kBlockEnd = 4,  // id1: the block; id2: the unit it runs in

  kPoint = 5,     // an instant.  id1: the point; id2: the block it lies in
  kAnnotate = 6,  // adds annotations.  id1: the element (unit, block, point or edge)

  // A non-obvious causal relation between two blocks.  id1: the edge, the same at both ends; id2:
  // the block at this end.
  kEdgeBegin = 7,
  kEdgeEnd = 8,

  // A remote call.  id1: the callee's block, known to both sides; id2: the block where this event happened.
  kRpcClientSend = 9,      // rpc_cs
  kRpcServerReceive = 10,  // rpc_sr
  kRpcServerSend = 11,     // rpc_ss
  kRpcClientReceive = 12,  // rpc_cr
  kRpcClientQueue = 13,    // rpc_cq: the response waits to be handled (Canopy figure 11 c, d)

  // An item in a queue.  id1: the item; id2: the block that puts, takes or completes it.
  kQueuePut = 14,
  kQueueTake = 15,
  kQueueDone = 16,

  // One holding of a lock, its wait included.  id1: the hold; id2: the block that wants or has it.
  kLockRequest = 17,
  kLockAcquire = 18,
  kLockRelease = 19,

  // A continuation: work created here and run later, elsewhere.  id1: the task; id2: the creating or running block.
  kTaskCreate = 20,
  kTaskRun = 21,

  kTraceStart = 22,  // the decision to trace was taken.  id1: the unit that took it

  kUnknown = 255,  // kept, counted and shown; never an error
};

// Names as written in JSON, indexed by the type's number.
inline constexpr std::string_view kEventTypeNames[] = {
    "span",         "unit_begin",   "unit_end",    "block_begin", "block_end",   "point",
    "annotate",     "edge_begin",   "edge_end",    "rpc_cs",      "rpc_sr",      "rpc_ss",
    "rpc_cr",       "rpc_cq",       "queue_put",   "queue_take",  "queue_done",  "lock_request",
    "lock_acquire", "lock_release", "task_create", "task_run",    "trace_start",
};
inline constexpr size_t kEventTypeCount = sizeof(kEventTypeNames) / sizeof(kEventTypeNames[0]);
static_assert(kEventTypeCount == 23, "span and the 22 types of the contract");

constexpr std::string_view EventTypeName(EventType type) {
  const auto number = static_cast<size_t>(type);
  return number < kEventTypeCount ? kEventTypeNames[number] : std::string_view("unknown");
}

// kUnknown for any other text, "unknown" included.
constexpr EventType ParseEventType(std::string_view name) {
  for (size_t i = 0; i < kEventTypeCount; ++i) {
    if (kEventTypeNames[i] == name) return static_cast<EventType>(i);
  }
  return EventType::kUnknown;
}

// From a stored byte.
constexpr EventType EventTypeFromNumber(uint8_t number) {
  return number < kEventTypeCount ? static_cast<EventType>(number) : EventType::kUnknown;
}

static_assert(EventTypeName(EventType::kRpcClientQueue) == "rpc_cq",
              "names stand in the order of the enum");
static_assert(ParseEventType("trace_start") == EventType::kTraceStart,
              "names stand in the order of the enum");

}  // namespace wherefore
