#include "recorder/preload/slot_ring.h"

namespace wf::recorder {
namespace {

template <typename T>
void Store(T& to, T value) {
  __atomic_store(&to, &value, __ATOMIC_RELEASE);
}

bool MayGo(const SlotEntry& entry) {
  const uint32_t number = entry.number;
  return number == 0 || entry.use == SlotUse::kEmpty ||
         __atomic_load_n(&entry.released, __ATOMIC_ACQUIRE) == number;
}

}  // namespace

void SlotRing::Next() {
  // The oldest of those that may go, else the oldest of all.
  uint32_t chosen = 0;
  for (uint32_t i = 1; i < head_->slots; ++i) {
    const bool free = MayGo(entries_[i]), chosen_free = MayGo(entries_[chosen]);
    if (free != chosen_free ? free : entries_[i].number < entries_[chosen].number) chosen = i;
  }
  SlotEntry& entry = entries_[chosen];
  if (!MayGo(entry)) Store(head_->overwritten, head_->overwritten + 1);
  place_ = chosen;
  ++number_;
  // A reader that sees another number before and after it read a slot has not read one.
  Store(entry.number, 0u);
  Store(entry.used, uint64_t{0});
  Store(entry.released, 0u);
  Store(entry.use, SlotUse::kWriting);
  Store(entry.number, number_);
}

void SlotRing::Commit(uint64_t position) { Store(entries_[place_].used, position - begin()); }

void SlotRing::Close(SlotUse how) { Store(entries_[place_].use, how); }

}  // namespace wf::recorder
