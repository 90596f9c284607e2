#include "recorder/reader/replay.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace wf::recorder {

bool IsRelease(Role role) {
  return role == Role::kReleaseAll || role == Role::kReleaseToWriters ||
         role == Role::kReleaseRound;
}

namespace {

class Replayer {
 public:
  Replayer(const Recording& recording, const ReplayVisitor& visitor)
      : r_(recording), visitor_(visitor), thread_of_(recording.actions.size(), kNone) {
    OrderByObject();
    cursors_.resize(r_.threads.size());
  }

  uint64_t Run() {
    for (uint32_t t = 0; t < r_.threads.size(); ++t) {
      if (!r_.threads[t].subs.empty()) Advance(t);
    }
    // Advance leaves every thread finished or waiting for an action of another, which wakes it; what waits now, waits
    // in a circle.
    for (uint32_t t = 0; t < r_.threads.size(); ++t) {
      while (!cursors_[t].finished && !r_.threads[t].subs.empty()) {
        ++forced_;
        force_ = t;
        Advance(t);
        force_ = kNone;
      }
    }
    return forced_;
  }

 private:
  struct Cursor {
    // Index whose closing call is being replayed; kNone: the opening of the thread.
    uint32_t sub = 0;
    uint32_t action = 0;  // next one
    bool begun = false;   // the thread's opening has been replayed
    bool finished = false;
  };

  void OrderByObject() {
    const auto own = [&](Slice slice, uint32_t thread) {
      for (uint32_t i = slice.begin; i < slice.end; ++i) thread_of_[i] = thread;
    };
    for (const ThreadFacts& thread : r_.threads) {
      if (thread.subs.empty()) continue;
      own(thread.actions, thread.id);
      for (SubId s = thread.subs.begin; s < thread.subs.end; ++s)
        own(r_.subs[s].actions, thread.id);
    }
    order_.reserve(r_.actions.size());
    for (uint32_t i = 0; i < r_.actions.size(); ++i) {
      if (thread_of_[i] != kNone) order_.push_back(i);
    }
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      const Action &x = r_.actions[a], &y = r_.actions[b];
      // Of a barrier's round all releases come first; elsewhere numbers differ.
      const bool x_acquires = !IsRelease(x.role), y_acquires = !IsRelease(y.role);
      return std::tie(x.object, x.sequence, x_acquires, a) <
             std::tie(y.object, y.sequence, y_acquires, b);
    });
    rank_.resize(r_.actions.size());
    done_.resize(order_.size());
    next_.assign(r_.objects.size(), kNone);
    for (uint32_t i = 0; i < order_.size(); ++i) {
      rank_[order_[i]] = i;
      uint32_t& next = next_[r_.actions[order_[i]].object];
      next = std::min(next, i);
    }
  }

  // Replays the thread, and the threads it wakes, as far as possible.
  void Advance(uint32_t first) {
    awake_.push_back(first);
    while (!awake_.empty()) {
      const uint32_t t = awake_.back();
      awake_.pop_back();
      while (Step(t)) {
      }
    }
  }

  // One action, or the step to the next sub-computation. False: the thread has to wait, or is done.
  bool Step(uint32_t t) {
    Cursor& cursor = cursors_[t];
    const ThreadFacts& thread = r_.threads[t];
    if (cursor.finished) return false;
    const bool opening = !cursor.begun;
    const SubId sub = thread.subs.begin + cursor.sub;
    const Slice actions = opening ? thread.actions : r_.subs[sub].actions;
    if (cursor.action < actions.size()) {
      const uint32_t at = actions.begin + cursor.action;
      const Action& action = r_.actions[at];
      if (next_[action.object] != rank_[at]) {
        if (force_ != t) return false;
        force_ = kNone;
      }
      ++cursor.action;
      if (IsRelease(action.role)) {
        // A thread that has not begun has nothing to release.
        if (!opening && visitor_.release) visitor_.release(sub, action);
      } else {
        const SubId opened = opening ? sub : sub + 1;
        if (opened < thread.subs.end && visitor_.acquire) visitor_.acquire(opened, action);
      }
      Done(at);
      return true;
    }
    cursor.action = 0;
    if (opening) {
      cursor.begun = true;
    } else if (++cursor.sub == thread.subs.size()) {
      cursor.finished = true;
      return false;
    }
    if (visitor_.begin) visitor_.begin(thread.subs.begin + cursor.sub);
    return true;
  }

  void Done(uint32_t at) {
    const uint32_t object = r_.actions[at].object;
    done_[rank_[at]] = true;
    uint32_t& next = next_[object];
    if (next != rank_[at]) return;  // it was forced, and those before it still come
    while (next < order_.size() && r_.actions[order_[next]].object == object && done_[next]) ++next;
    if (next >= order_.size() || r_.actions[order_[next]].object != object) {
      next = kNone;
      return;
    }
    awake_.push_back(thread_of_[order_[next]]);
  }

  const Recording& r_;
  const ReplayVisitor& visitor_;
  std::vector<uint32_t> thread_of_;  // of each action
  std::vector<uint32_t> order_;      // actions by object and sequence
  std::vector<uint32_t> rank_;       // of each action, in order_
  std::vector<bool> done_;           // by rank
  std::vector<uint32_t> next_;       // of each object, the rank whose turn it is
  std::vector<Cursor> cursors_;
  std::vector<uint32_t> awake_;
  uint32_t force_ = kNone;
  uint64_t forced_ = 0;
};

}  // namespace

uint64_t Replay(const Recording& recording, const ReplayVisitor& visitor) {
  return Replayer(recording, visitor).Run();
}

}  // namespace wf::recorder
