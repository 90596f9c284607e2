#include "recorder/reader/clocks.h"

#include <map>
#include <utility>

#include "recorder/reader/replay.h"

namespace wf::recorder {

Clocks Clocks::Compute(const Recording& recording) {
  Clocks out(recording.threads.size());
  ClockTree& tree = out.tree_;
  const size_t subs = recording.subs.size();
  out.roots_.assign(subs, ClockTree::kZero);
  out.positions_.assign(subs, 0);
  out.own_.reserve(subs);
  for (const SubComputation& sub : recording.subs) out.own_.push_back({sub.thread, sub.index});

  // What the releases of an object have added up to.
  struct Released {
    ClockTree::Root all = ClockTree::kZero, by_writers = ClockTree::kZero;
  };
  std::vector<Released> released(recording.objects.size());
  std::map<std::pair<uint32_t, uint64_t>, ClockTree::Root> rounds;  // of barriers
  std::vector<ClockTree::Root> known(recording.threads.size(), ClockTree::kZero);
  uint32_t position = 0;

  ReplayVisitor visitor;
  visitor.begin = [&](SubId sub) {
    out.roots_[sub] = known[out.own_[sub].thread];
    out.positions_[sub] = position++;
  };
  visitor.release = [&](SubId sub, const Action& action) {
    const Own own = out.own_[sub];
    const ClockTree::Root clock = tree.With(out.roots_[sub], own.thread, own.index + 1);
    Released& object = released[action.object];
    if (action.role == Role::kReleaseRound) {
      ClockTree::Root& round = rounds[{action.object, action.sequence}];
      round = tree.Join(round, clock);
      return;
    }
    object.all = tree.Join(object.all, clock);
    if (action.role == Role::kReleaseAll) object.by_writers = tree.Join(object.by_writers, clock);
  };
  visitor.acquire = [&](SubId sub, const Action& action) {
    ClockTree::Root& clock = known[out.own_[sub].thread];
    if (action.role == Role::kAcquireAll)
      clock = tree.Join(clock, released[action.object].all);
    else if (action.role == Role::kAcquireFromWriters)
      clock = tree.Join(clock, released[action.object].by_writers);
    else
      clock = tree.Join(clock, rounds[{action.object, action.sequence}]);
  };
  out.disorder_ = Replay(recording, visitor);
  return out;
}

}  // namespace wf::recorder
