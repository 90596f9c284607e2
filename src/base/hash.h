// Non-cryptographic hashing of bytes: stable across runs and machines, because ids and stored filters depend on it.
#pragma once

#include <cstdint>
#include <string_view>

namespace wf {

struct Hash128 {
  uint64_t hi = 0;
  uint64_t lo = 0;
  bool operator==(const Hash128& o) const { return hi == o.hi && lo == o.lo; }
  bool operator<(const Hash128& o) const { return hi != o.hi ? hi < o.hi : lo < o.lo; }
};

uint64_t HashBytes(std::string_view bytes, uint64_t seed = 0);

// Feeds values one after another; the result depends on their order and on where one ends and the next begins.
class Hasher128 {
 public:
  void Add(std::string_view bytes);
  void Add(uint64_t value);
  Hash128 Finish() const;

 private:
  uint64_t a_ = 0x243F6A8885A308D3ull;  // digits of pi: any fixed, unrelated constants do
  uint64_t b_ = 0x13198A2E03707344ull;
};

// Finalizer of SplitMix64: turns close integers into unrelated ones.
inline uint64_t MixBits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace wf
