// HashBytes in place, for the few callers whose work is mostly hashes of short texts.
//
// A multiply-fold hash: eight bytes at a time, each step a 64×64→128-bit product folded to 64 bits. One product per
// word costs about as much as a table lookup and passes avalanche tests where a plain multiply does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "base/short_bytes.h"

namespace wf {

namespace hash {

constexpr uint64_t kP0 = 0x9E3779B97F4A7C15ull;
constexpr uint64_t kP1 = 0xD6E8FEB86659FD93ull;

inline uint64_t Fold(uint64_t a, uint64_t b) {
  __extension__ using Product = unsigned __int128;
  const Product product = static_cast<Product>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace hash

inline uint64_t HashBytesHere(std::string_view bytes, uint64_t seed) {
  uint64_t h = seed ^ hash::kP0;
  const char* p = bytes.data();
  size_t n = bytes.size();
  for (; n > 8; n -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    h = hash::Fold(h ^ word, hash::kP1);
  }
  const uint64_t tail = n != 0 ? LoadShort(p, n) : 0;
  return MixBits(hash::Fold(h ^ tail, hash::kP1 ^ bytes.size()));
}

}  // namespace wf
