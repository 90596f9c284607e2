// The critical path: which steps set the time between two places of a trace (Canopy §3.4, §4.4). Segments partition
// the interval exactly: ordered, longer than zero, without gap or overlap. Pure function of the trace; any thread.
// docs/concepts/critical-path.md holds the definition, rule by rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/trace.h"

namespace wf::critical_path {

enum class PathCategory : uint8_t {
  kSelf,
  kNetwork,  // own time of a CLIENT with a SERVER child
  kBlocked,  // own time of a CLIENT without one, or an unexplained wait
  kQueue,    // in a queue, for a lock, or of a one-way message
  kUnknown,  // a stand-in's
};
std::string_view PathCategoryName(PathCategory category);

struct PathSegment {
  uint32_t block = kNone;  // the block that spent this time; for a wait for an edge, the receiver
  uint32_t edge = kNone;   // the edge that was in transit, from sender to receiver, if any
  PathCategory category = PathCategory::kSelf;
  Nanos start_ns = 0, end_ns = 0;
  // Siblings that had ended by then too and ran in parallel with the chosen one:
  // CriticalPath::alternatives[begin, end).
  uint32_t alternatives_begin = 0, alternatives_end = 0;

  Nanos duration() const { return end_ns - start_ns; }
};

struct CriticalPath {
  uint32_t root = kNone;  // the block where the walk began
  Nanos start_ns = 0, end_ns = 0;
  // Neighbours differ in block, category or edge.
  std::vector<PathSegment> segments;
  std::vector<uint32_t> alternatives;  // blocks
};

// An instant within a block: its start, its end, or a point's time.
struct PathPlace {
  uint32_t block = kNone;
  Nanos time_ns = 0;
};

enum class OverlapTolerance : uint8_t { kOn, kOff };

struct CriticalPathOptions {
  std::optional<PathPlace> from, to;  // absent: the main root's start, its end
  OverlapTolerance overlap = OverlapTolerance::kOn;
};

// kNotFound when `from` did not happen before `to`, or the trace is empty.
Result<CriticalPath> FindCriticalPath(const Trace& trace, const CriticalPathOptions& options);

}  // namespace wf::critical_path
