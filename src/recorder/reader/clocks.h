// The vector clock of every sub-computation, and the order that the clocks give.
//
// clock(b)[u] is the number of thread u's sub-computations that happen before b, b itself included; so clocks count from
// 1, and a happens before b iff clock(b)[a.thread] > a.index (INSPECTOR's algorithms 1 and 2 with their gaps closed:
// docs/use/recording.md). Immutable once computed; many threads may read.
#pragma once

#include <cstdint>
#include <vector>

#include "recorder/reader/clock_tree.h"
#include "recorder/reader/recording.h"

namespace wf::recorder {

class Clocks {
 public:
  static Clocks Compute(const Recording& recording);

  // `thread`'s entry in the clock of `sub`.
  uint32_t At(SubId sub, uint32_t thread) const {
    const Own own = own_[sub];
    return own.thread == thread ? own.index + 1 : tree_.Get(roots_[sub], thread);
  }
  bool Before(SubId a, SubId b) const { return a != b && At(b, own_[a].thread) > own_[a].index; }
  bool Concurrent(SubId a, SubId b) const { return a != b && !Before(a, b) && !Before(b, a); }
  // Whether no entry is above its limit, except that of its own thread.
  bool Within(SubId sub, const std::vector<uint32_t>& limits, ClockTree::Known& known) const {
    return tree_.Within(roots_[sub], limits, known);
  }
  // Positions in one possible order: Before(a, b) implies Position(a) < Position(b).
  uint32_t Position(SubId sub) const { return positions_[sub]; }
  // For a sub-computation opened by a cut with kIfItAdds: whether its acquires added to the clock. True for
  // all others.
  bool OpeningAdded(SubId sub) const { return !nothing_added_[sub]; }
  // Actions that fit no order; 0 for a file that a recorder wrote.
  uint64_t disorder() const { return disorder_; }

 private:
  struct Own {
    uint32_t thread = 0, index = 0;
  };
  explicit Clocks(size_t threads) : tree_(threads) {}

  ClockTree tree_;
  std::vector<ClockTree::Root> roots_;  // without the entry of its own thread
  std::vector<Own> own_;
  std::vector<uint32_t> positions_;
  std::vector<bool> nothing_added_;
  uint64_t disorder_ = 0;
};

}  // namespace wf::recorder
