#include "live/query_intervals.h"

#include <algorithm>
#include <utility>

namespace wf::live {
namespace {

// After a pause of the whole machine, up to this many empty intervals are still shown one by one.
constexpr Nanos kMostEmptyAtOnce = 100;

}  // namespace

Nanos IntervalStart(Nanos at, Nanos interval) {
  const Nanos rest = at % interval;
  return at - (rest < 0 ? rest + interval : rest);
}

QueryIntervals::QueryIntervals(std::shared_ptr<const advice::Program> program, Nanos interval,
                               Nanos since)
    : program_(std::move(program)),
      interval_(interval),
      grace_(std::clamp(interval, kShortestGrace, kLongestGrace)),
      next_(IntervalStart(since, interval)) {}

bool QueryIntervals::Merge(Opens& opens, Nanos start, const IntervalPart& part) {
  const auto [at, fresh] = opens.try_emplace(start, Open{advice::Results(*program_, kMostRows), 0});
  if (!at->second.results.Merge(part.partial)) {
    if (fresh) opens.erase(at);
    return false;
  }
  at->second.lost += part.lost;
  return true;
}

QueryIntervals::Taken QueryIntervals::Add(const IntervalPart& part) {
  const Nanos start = IntervalStart(part.start_ns, interval_);
  const bool late = start < next_;
  Opens& opens = late ? late_ : open_;
  if (opens.size() >= kMostOpen && opens.count(start) == 0) return Taken::kTooMany;
  if (!Merge(opens, start, part)) return Taken::kOtherShape;
  return late ? Taken::kLate : Taken::kInTime;
}

ClosedInterval QueryIntervals::Finish(Nanos start, const Open* open) const {
  ClosedInterval closed{start, start + interval_, 0, {}};
  if (open == nullptr) return closed;
  closed.rows = open->results.Rows(kMostRows);
  closed.lost = open->lost + open->results.lost();
  const advice::Emit* emit = advice::EmitOf(*program_);
  if (emit != nullptr && !emit->grouped && open->results.tuples() > closed.rows.size())
    closed.lost += open->results.tuples() - closed.rows.size();
  return closed;
}

std::vector<ClosedInterval> QueryIntervals::Close(Nanos now) {
  std::vector<ClosedInterval> closed;
  while (due() <= now) {
    const auto open = open_.find(next_);
    closed.push_back(Finish(next_, open == open_.end() ? nullptr : &open->second));
    if (open != open_.end()) open_.erase(open);
    next_ += interval_;
    const Nanos newest = IntervalStart(now - grace_ - interval_, interval_);
    if (newest - next_ > kMostEmptyAtOnce * interval_)
      next_ = open_.empty() ? newest : std::min(newest, open_.begin()->first);
  }
  for (const auto& [start, late] : std::exchange(late_, {})) closed.push_back(Finish(start, &late));
  return closed;
}

std::vector<ClosedInterval> QueryIntervals::CloseAll(Nanos now) {
  std::vector<ClosedInterval> closed = Close(now);
  Nanos last = IntervalStart(now, interval_);
  if (!open_.empty()) last = std::max(last, open_.rbegin()->first);
  for (; next_ <= last && next_ <= now; next_ += interval_) {
    const auto open = open_.find(next_);
    // The last interval has hardly begun, so it is shown only if something happened in it.
    if (open == open_.end() && next_ + interval_ > now) continue;
    closed.push_back(Finish(next_, open == open_.end() ? nullptr : &open->second));
    if (open != open_.end()) open_.erase(open);
  }
  for (const auto& [start, open] : std::exchange(open_, {}))  // from clocks that are ahead
    closed.push_back(Finish(start, &open));
  return closed;
}

}  // namespace wf::live
