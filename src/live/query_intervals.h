// The results that processes report for one live query, merged interval by interval (Pivot Tracing §4:
// partial aggregation in each process, the rest here).
//
// Intervals are multiples of their length since the Unix epoch, so that parts of different processes fall
// into the same intervals. A process reports an interval when it is over, so an interval is closed one
// interval later (at most kLongestGrace), with or without rows: every interval gives one object. A part that
// arrives even later is neither lost nor moved to another time: it gives one more object of its own interval,
// with only the rows of the late part. So each event counts once over all objects, and a reader that needs
// one object per interval adds those of equal start.
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
  // Max rows of an interval on the server; further tuples are counted as lost.
  static constexpr size_t kMostRows = 100'000;
  // A bound on the intervals of a process whose clock is far ahead; its parts wait until then.
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

  // Intervals whose time and grace are over at `now`, oldest first, including empty ones; then late parts.
  std::vector<ClosedInterval> Close(Nanos now);
  // At the end of the query: also intervals that have only begun.
  std::vector<ClosedInterval> CloseAll(Nanos now);
  Nanos due() const {
    return next_ + interval_ + grace_;
  }  // when Close returns something in any case
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

// The start of the interval that contains `at`.
Nanos IntervalStart(Nanos at, Nanos interval);

}  // namespace wf::live
