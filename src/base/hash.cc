// A multiply-fold hash: eight bytes at a time, each step a 64×64→128-bit product folded to 64 bits. One product per
// word costs about as much as a table lookup and passes avalanche tests where a plain multiply does not.
#include "base/hash.h"

#include <cstring>

namespace wf {
namespace {

uint64_t Fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t Load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

// The last 1..8 bytes of a text as one word; the caller mixes in the length, so padding is unambiguous.
// Without a call: most texts are short.
uint64_t LoadTail(const char* p, size_t n) {
  if (n >= 4) {
    uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + n - 4, 4);
    return low | static_cast<uint64_t>(high) << (8 * (n - 4));
  }
  const auto byte = [p](size_t i) {
    return static_cast<uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
  };
  return byte(0) | byte(n / 2) | byte(n - 1);
}

constexpr uint64_t kP0 = 0x9E3779B97F4A7C15ull;
constexpr uint64_t kP1 = 0xD6E8FEB86659FD93ull;

}  // namespace

[[gnu::hot]] uint64_t HashBytes(std::string_view bytes, uint64_t seed) {
  uint64_t h = seed ^ kP0;
  const char* p = bytes.data();
  size_t n = bytes.size();
  for (; n > 8; n -= 8, p += 8) h = Fold(h ^ Load64(p), kP1);
  const uint64_t tail = n != 0 ? LoadTail(p, n) : 0;
  return MixBits(Fold(h ^ tail, kP1 ^ bytes.size()));
}

void Hasher128::Add(uint64_t value) {
  a_ = Fold(a_ ^ value, kP0);
  b_ = Fold(b_ + value, kP1) + a_;
}

void Hasher128::Add(std::string_view bytes) {
  Add(HashBytes(bytes, a_) ^ bytes.size());
  Add(HashBytes(bytes, b_));
}

Hash128 Hasher128::Finish() const { return {MixBits(a_ ^ kP1), MixBits(b_ ^ kP0)}; }

}  // namespace wf
