#include "recorder/reader/slot_base.h"

#include <algorithm>
#include <tuple>

#include "recorder/reader/replay.h"

namespace wf::recorder {

void SlotBase::Apply() {
  cut_.resize(threads_.size(), 0);
  OrderReleases();
  std::vector<uint32_t> settled = cut_;
  for (uint32_t t = 0; t < threads_.size(); ++t) cut_[t] = threads_[t].facts.first_index;
  for (uint32_t t = 0; t < threads_.size(); ++t) TakeIn(t, settled[t]);
  for (size_t i = 0; i < work_.size(); ++i) {
    const auto [t, index] = work_[i];
    const ThreadDraft& thread = threads_[t];
    // What opened it: the call that ended the one before, or the creation of the thread. What opened the first of this
    // file stands before it, and all that it saw has settled.
    Slice opening;
    if (index > thread.facts.first_index)
      opening = thread.subs[index - thread.facts.first_index - 1].actions;
    else if (index == 0)
      opening = thread.facts.actions;
    for (uint32_t a = opening.begin; a < opening.end; ++a) {
      const Action action = thread.actions[a];
      if (!IsRelease(action.role)) TakeInSeen(action);
    }
  }
  for (uint32_t t = 0; t < threads_.size(); ++t) LeaveOut(threads_[t], cut_[t]);
}

void SlotBase::OrderReleases() {
  uint32_t objects = 0;
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    const ThreadDraft& thread = threads_[t];
    for (const SubComputation& sub : thread.subs) {
      for (uint32_t a = sub.actions.begin; a < sub.actions.end; ++a) {
        const Action& action = thread.actions[a];
        if (!IsRelease(action.role)) continue;
        releases_.push_back({action.object, action.sequence, t, sub.index});
        objects = std::max(objects, action.object + 1);
      }
    }
  }
  std::sort(releases_.begin(), releases_.end(), [](const Release& a, const Release& b) {
    return std::tie(a.object, a.sequence, a.thread, a.index) <
           std::tie(b.object, b.sequence, b.thread, b.index);
  });
  of_object_.resize(objects);
  for (uint32_t i = 0; i < releases_.size(); ++i) {
    Range& range = of_object_[releases_[i].object];
    if (range.end == 0) range.next = i;
    range.end = i + 1;
  }
}

void SlotBase::TakeIn(uint32_t t, uint32_t count) {
  const ThreadDraft& thread = threads_[t];
  count = std::min(count, thread.facts.first_index + static_cast<uint32_t>(thread.subs.size()));
  for (; cut_[t] < count; ++cut_[t]) work_.emplace_back(t, cut_[t]);
}

// All releases before it in the order of the object: some of them it may not have seen (a read lock's), and a cut with
// those is a little larger and as good.
void SlotBase::TakeInSeen(const Action& acquire) {
  if (acquire.object >= of_object_.size()) return;
  Range& range = of_object_[acquire.object];
  const bool round = acquire.role == Role::kAcquireRound;
  for (; range.next < range.end; ++range.next) {
    const Release& release = releases_[range.next];
    if (release.sequence > acquire.sequence || (release.sequence == acquire.sequence && !round))
      return;
    TakeIn(release.thread, release.index + 1);
  }
}

void SlotBase::LeaveOut(ThreadDraft& thread, uint32_t count) {
  const uint32_t gone = count - thread.facts.first_index;
  if (gone == 0) return;
  // The call that ended the last of them opened the first that stays.
  const SubComputation& last = thread.subs[gone - 1];
  thread.facts.actions = last.actions;
  const uint32_t transfers = last.transfers.end;
  thread.facts.first_index = count;
  thread.subs.erase(thread.subs.begin(), thread.subs.begin() + gone);
  thread.transfers.erase(thread.transfers.begin(), thread.transfers.begin() + transfers);
  for (SubComputation& sub : thread.subs) {
    sub.transfers.begin -= transfers;
    sub.transfers.end -= transfers;
  }
}

}  // namespace wf::recorder
