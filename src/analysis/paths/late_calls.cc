#include "analysis/paths/late_calls.h"

#include <algorithm>

namespace wf::paths {
namespace {

// Fewer calls than this are not a pattern, whatever their delays.
constexpr uint64_t kFew = 5;
// Lost messages leave a few calls of a pair without their parent. Calls after the reply are a habit.
constexpr double kHabit = 0.2;
// Delays are gathered if half of the calls have one in a range that holds twice what an even spread would put there.
constexpr double kShare = 0.5, kDenser = 2;

}  // namespace

void LateCalls::CountAlone(NodeId b, NodeId c, std::span<const Nanos> delays, Nanos seen) {
  Pair& pair = pairs_[Key(b, c)];
  ++pair.alone;
  if (delays.empty()) return;
  ++pair.with_candidates;
  pair.candidates += delays.size();
  pair.seen_ns += static_cast<double>(seen);
  for (const Nanos delay : delays) ++pair.delays[static_cast<size_t>(DelayBins::Get().Of(delay))];
}

bool LateCalls::Gathered(const Pair& pair) {
  // Candidates per nanosecond looked at, times the calls: what an even spread puts into each nanosecond of delay.
  const double calls = static_cast<double>(pair.with_candidates);
  const double even = static_cast<double>(pair.candidates) / pair.seen_ns * calls;
  const auto gathered = [&](double count, double width) {
    return count >= kShare * calls && count >= kDenser * even * width;
  };
  const DelayBins& bins = DelayBins::Get();
  double from_zero = 0;
  for (int bin = 0; bin < DelayBins::kCount; ++bin) {
    from_zero += pair.delays[static_cast<size_t>(bin)];
    const double until = static_cast<double>(bins.From(bin) + (bin > 0 ? bins.Width(bin) : 0));
    if (gathered(from_zero, until)) return true;
    // Ranges of a ratio of 1.4 and of 4.
    for (const int length : {7, 28}) {
      double count = 0;
      for (int i = bin; i < std::min(bin + length, DelayBins::kCount); ++i)
        count += pair.delays[static_cast<size_t>(i)];
      const int last = std::min(bin + length, DelayBins::kCount) - 1;
      if (gathered(count, static_cast<double>(bins.From(last) + bins.Width(last) - bins.From(bin))))
        return true;
    }
  }
  return false;
}

bool LateCalls::Caused(NodeId b, NodeId c) const {
  const auto found = pairs_.find(Key(b, c));
  if (found == pairs_.end()) return false;
  const Pair& pair = found->second;
  if (static_cast<double>(pair.with_candidates) <
      kHabit * static_cast<double>(pair.nested + pair.alone))
    return false;
  if (pair.alone < kFew) return false;
  return 2 * pair.with_candidates >= pair.alone && Gathered(pair);
}

}  // namespace wf::paths
