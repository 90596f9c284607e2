// RecentIds: traces whose events were seen and are no longer cached (Canopy §4.2: ids of the past 5 hours). An event
// of such a trace must not enter the cache again, because the rest of its trace is not there.
//
// A few Bloom filters, one for each part of the remembered time; the oldest is cleared and reused. A filter
// may mistake a new trace for one seen before (about 1 in 2,000 when full): that trace is then processed from
// the store, which only costs time. The opposite error never happens within the remembered time. Exact sets
// were rejected: they need 32 bytes per id instead of 2, and senders control the number of ids. A filter that
// fills up early is closed early, and forgetting_early() reports that the remembered time is shorter than
// configured.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/nanos.h"

namespace wf::pipeline {

class RecentIds {
 public:
  // `bytes` in all, allocated when ids arrive.
  RecentIds(Nanos remember, size_t bytes)
      : part_time_(remember / (kParts - 1)), words_(Words(bytes / kParts)) {}

  void Insert(uint32_t tenant, TraceId id, Nanos now) {
    Part* part = &parts_[newest_];
    if (now - part->since >= part_time_ || part->ids >= Capacity()) {
      if (part->ids >= Capacity() && now - part->since < part_time_) ++forgotten_early_;
      newest_ = (newest_ + 1) % kParts;
      part = &parts_[newest_];
      part->bits.assign(part->bits.size(), 0);
      part->ids = 0;
      part->since = now;
    }
    if (part->bits.empty()) part->bits.resize(words_);
    const Place place = PlaceOf(tenant, id);
    for (const uint64_t mask : place.masks) part->bits[place.Word(mask)] |= place.Bit(mask);
    ++part->ids;
  }

  bool MayHave(uint32_t tenant, TraceId id) const {
    const Place place = PlaceOf(tenant, id);
    for (const Part& part : parts_) {
      if (part.ids == 0) continue;
      bool all = true;
      for (const uint64_t mask : place.masks)
        all = all && (part.bits[place.Word(mask)] & place.Bit(mask)) != 0;
      if (all) return true;
    }
    return false;
  }

  int64_t forgotten_early() const { return forgotten_early_; }

 private:
  static constexpr size_t kParts = 5;  // one is filling while four are complete
  static constexpr size_t kProbes = 6;
  static constexpr size_t kBlockWords = 8;  // probes of one id are in one cache line

  struct Part {
    std::vector<uint64_t> bits;
    size_t ids = 0;
    Nanos since = INT64_MIN / 2;
  };
  struct Place {
    size_t block;
    std::array<uint64_t, kProbes> masks;  // 9 bits each: word and bit of the block
    size_t Word(uint64_t mask) const { return block + (mask >> 6); }
    static uint64_t Bit(uint64_t mask) { return uint64_t{1} << (mask & 63); }
  };

  static size_t Words(size_t bytes) {
    size_t words = kBlockWords;
    while (words * 16 <= bytes) words *= 2;
    return words;
  }
  size_t Capacity() const { return words_ * 64 / 16; }  // 16 bits per id

  Place PlaceOf(uint32_t tenant, TraceId id) const {
    const uint64_t hash = MixBits(id.hi ^ MixBits(id.lo ^ tenant * 0x9E3779B97F4A7C15ull));
    Place place;
    place.block = (hash & (words_ / kBlockWords - 1)) * kBlockWords;
    uint64_t bits = MixBits(hash);
    for (uint64_t& mask : place.masks) {
      mask = bits & 511;
      bits >>= 9;
    }
    return place;
  }

  const Nanos part_time_;
  const size_t words_;  // of a part: a power of two
  std::array<Part, kParts> parts_;
  size_t newest_ = 0;
  int64_t forgotten_early_ = 0;
};

}  // namespace wf::pipeline
