// Random draws that are the same on every machine: integers only, without library distributions and floating
// point.
//
// A draw is a pure function of (seed, what is drawn, two indices), not the next number of a stream. So the
// same request drawn for two populations that differ in one input sees the same user, network and needs; then
// every difference between the populations comes from that input ("common random numbers").
#pragma once

#include <array>
#include <cstdint>

#include "base/hash.h"

namespace wf::scenario {

// A distribution given by its deciles, from min to max; linear between them.
struct Deciles {
  std::array<int64_t, 11> at;
};

class Draws {
 public:
  explicit Draws(uint64_t key) : key_(key) {}

  // Another family of draws, unrelated to this one.
  Draws For(uint64_t a, uint64_t b = 0) const { return Draws(Mixed(a, b)); }

  uint64_t Bits(uint64_t what, uint64_t index = 0) const { return MixBits(Mixed(what, index)); }
  // Uniform in [0, n).
  int64_t Below(int64_t n, uint64_t what, uint64_t index = 0) const {
    return static_cast<int64_t>(((Bits(what, index) >> 32) * static_cast<uint64_t>(n)) >> 32);
  }
  int64_t Between(int64_t least, int64_t greatest, uint64_t what, uint64_t index = 0) const {
    return least + Below(greatest - least + 1, what, index);
  }
  // True in `permille` of 1,000 cases.
  bool Chance(int64_t permille, uint64_t what, uint64_t index = 0) const {
    return Below(1000, what, index) < permille;
  }
  int64_t From(const Deciles& deciles, uint64_t what, uint64_t index = 0) const {
    constexpr int64_t kSteps = 1'000'000;
    const int64_t place = Below(10 * kSteps, what, index);
    const int64_t low = deciles.at[static_cast<size_t>(place / kSteps)];
    const int64_t high = deciles.at[static_cast<size_t>(place / kSteps) + 1];
    return low + (high - low) * (place % kSteps) / kSteps;
  }

 private:
  uint64_t Mixed(uint64_t a, uint64_t b) const {
    return MixBits(key_ + 0x9E3779B97F4A7C15ull * (a + 1)) ^
           MixBits(0xD1B54A32D192ED03ull * (b + 1) + a);
  }
  uint64_t key_;
};

}  // namespace wf::scenario
