// IdMap: 64-bit ids → small indices, open addressing in two flat arrays. A trace of 100,000 spans is looked up a few
// hundred thousand times while it is built; std::unordered_map costs a heap object and two cache misses each.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace wf {

constexpr uint32_t kNone = UINT32_MAX;  // "no such element", wherever an index stands

class IdMap {
 public:
  // Index of `id`, or kNone.
  uint32_t Find(uint64_t id) const {
    if (keys_.empty()) return kNone;
    for (size_t slot = MixBits(id) & mask_;; slot = (slot + 1) & mask_) {
      if (values_[slot] == kNone) return kNone;
      if (keys_[slot] == id) return values_[slot];
    }
  }

  // Stores index (never kNone) unless `id` is there. Returns the index that now stands there.
  uint32_t Insert(uint64_t id, uint32_t index) {
    uint32_t& value = Slot(id);
    if (value == kNone) {
      value = index;
      ++size_;
    }
    return value;
  }

  void Replace(uint64_t id, uint32_t index) {
    uint32_t& value = Slot(id);
    if (value == kNone) ++size_;
    value = index;
  }

  void Reserve(size_t ids) {
    size_t capacity = 16;
    while (capacity < ids * 2) capacity *= 2;
    if (capacity > keys_.size()) Rehash(capacity);
  }

  size_t size() const { return size_; }

 private:
  uint32_t& Slot(uint64_t id) {
    if ((size_ + 1) * 2 > keys_.size()) Rehash(keys_.empty() ? 16 : keys_.size() * 2);
    size_t slot = MixBits(id) & mask_;
    while (values_[slot] != kNone && keys_[slot] != id) slot = (slot + 1) & mask_;
    keys_[slot] = id;
    return values_[slot];
  }

  void Rehash(size_t capacity) {
    std::vector<uint64_t> keys(capacity);
    std::vector<uint32_t> values(capacity, kNone);
    keys.swap(keys_);
    values.swap(values_);
    mask_ = capacity - 1;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (values[i] == kNone) continue;
      size_t slot = MixBits(keys[i]) & mask_;
      while (values_[slot] != kNone) slot = (slot + 1) & mask_;
      keys_[slot] = keys[i];
      values_[slot] = values[i];
    }
  }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> values_;
  size_t mask_ = 0;
  size_t size_ = 0;
};

}  // namespace wf
