#include "analysis/paths/open_calls.h"

#include "base/check.h"

namespace wf::pairing {

Entry& OpenCalls::Insert(const Key& key) {
  if (2 * (used_ + 1) > entries_.size()) Grow();
  size_t at = Home(key);
  while (entries_[at].used) at = Next(at);
  entries_[at] = Entry{};
  entries_[at].key = key;
  entries_[at].used = true;
  ++used_;
  return entries_[at];
}

// Moves later entries of the chain into the hole where possible, so that no chain is cut.
void OpenCalls::Erase(const Key& key) {
  size_t hole = Home(key);
  while (!(entries_[hole].used && entries_[hole].key == key)) {
    WF_CHECK(entries_[hole].used);
    hole = Next(hole);
  }
  const size_t mask = entries_.size() - 1;
  for (size_t at = Next(hole); entries_[at].used; at = Next(at)) {
    const size_t home = Home(entries_[at].key);
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      entries_[hole] = entries_[at];
      hole = at;
    }
  }
  entries_[hole].used = false;
  --used_;
}

void OpenCalls::Grow() {
  std::vector<Entry> old(2 * entries_.size());
  old.swap(entries_);
  for (const Entry& entry : old) {
    if (!entry.used) continue;
    size_t at = Home(entry.key);
    while (entries_[at].used) at = Next(at);
    entries_[at] = entry;
  }
}

ItemNumber OpenCalls::Take() {
  ItemNumber n;
  if (free_.empty()) {
    n = static_cast<ItemNumber>(items_.size());
    items_.emplace_back();
  } else {
    n = free_.back();
    free_.pop_back();
    const uint32_t generation = items_[n].generation;
    items_[n] = Item{};
    items_[n].generation = generation;
  }
  items_[n].live = true;
  return n;
}

void OpenCalls::Free(ItemNumber n) {
  items_[n].live = false;
  ++items_[n].generation;
  free_.push_back(n);
}

}  // namespace wf::pairing
