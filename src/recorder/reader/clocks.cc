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
  out.nothing_added_.assign(subs, false);
  for (SubId s = 1; s < subs; ++s) {
    out.nothing_added_[s] = recording.subs[s].thread == recording.subs[s - 1].thread &&
                            (recording.subs[s - 1].flags & kIfItAdds) != 0;
  }

  // What the releases of an object have added up to.
  struct Released {
    ClockTree::Root all = ClockTree::kZero, by_writers = ClockTree::kZero;
  };
  std::vector<Released> released(recording.objects.size());
  std::map<std::pair<uint32_t, uint64_t>, ClockTree::Root> rounds;  // of barriers
  // Everything before the start of a file of slots is assumed to have happened before all that is in it.
  ClockTree::Root before = ClockTree::kZero;
  for (const ThreadFacts& thread : recording.threads)
    before = tree.With(before, thread.id, thread.first_index);
  std::vector<ClockTree::Root> known(recording.threads.size(), before);
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
    const Own own = out.own_[sub];
    ClockTree::Root& clock = known[own.thread];
    ClockTree::Root acquired = released[action.object].all;
    if (action.role == Role::kAcquireFromWriters) acquired = released[action.object].by_writers;
    if (action.role == Role::kAcquireRound) acquired = rounds[{action.object, action.sequence}];
    if (out.nothing_added_[sub]) {
      const ClockTree::Root before = tree.With(clock, own.thread, own.index);
      out.nothing_added_[sub] = tree.Join(before, acquired) == before;
    }
    clock = tree.Join(clock, acquired);
  };
  out.disorder_ = Replay(recording, visitor);
  return out;
}

}  // namespace wf::recorder
