// What the processes report of one live query, merged interval by interval (Pivot Tracing §4: partial aggregation in each
// process, the rest here).
//
// Intervals are multiples of their length since the Unix epoch, so that parts of different processes meet. A process reports an interval when it
// is over, so an interval is closed one interval later (at most kLongestGrace), rows or none: every interval gives one
// object. A part that comes later still is not lost and not put to another time: it makes one more object of its own
// interval, with the rows of the late part alone. So over all objects each event counts once, and whoever wants one
// object per interval adds those of equal start.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "advice/program.h"
#include "advice/results.h"
#include "base/nanos.h"

namespace wf::live {

struct IntervalPart {
  Nanos start_ns = 0;
  std::string_view partial;  // advice::Results::Encode
  uint64_t lost = 0;
};

struct ClosedInterval {
  Nanos start_ns = 0, end_ns = 0;
  uint64_t lost = 0;
  std::vector<advice::Tuple> rows;
};

class QueryIntervals {
 public:
  // Of all rows of an interval on the server: beyond it tuples are counted as lost.
  static constexpr size_t kMostRows = 100'000;
  // A process whose clock is far ahead; its parts wait until then.
  static constexpr size_t kMostOpen = 1'000;
  static constexpr Nanos kShortestGrace = 200 * kMilli;
  static constexpr Nanos kLongestGrace = 2 * kSecond;

  QueryIntervals(std::shared_ptr<const advice::Program> program, Nanos interval, Nanos since);

  enum class Taken {
    kInTime,
    kLate,
    kOtherShape,  // not this query's results
    kTooMany,     // kMostOpen
  };
  Taken Add(const IntervalPart& part);

  // Intervals whose time and grace are over at `now`, oldest first, empty ones too; then late parts.
  std::vector<ClosedInterval> Close(Nanos now);
  // At the end of the query: also those that have begun.
  std::vector<ClosedInterval> CloseAll(Nanos now);
  Nanos due() const { return next_ + interval_ + grace_; }  // when Close has something in any case
  bool has_late() const { return !late_.empty(); }

  Nanos interval() const { return interval_; }
  Nanos grace() const { return grace_; }

 private:
  struct Open {
    advice::Results results;
    uint64_t lost = 0;
  };
  using Opens = std::map<Nanos, Open>;
  bool Merge(Opens& opens, Nanos start, const IntervalPart& part);
  ClosedInterval Finish(Nanos start, const Open* open) const;

  const std::shared_ptr<const advice::Program> program_;
  const Nanos interval_, grace_;
  Nanos next_;  // start of the oldest interval that is not closed
  Opens open_, late_;
};

// The start of the interval that holds `at`.
Nanos IntervalStart(Nanos at, Nanos interval);

}  // namespace wf::live
