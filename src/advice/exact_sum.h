// A sum of doubles without rounding: a fixed-point number that spans every double, times any weight. So the sum does
// not depend on the order in which branches and processes are merged; it is rounded once, when it is shown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "advice/wire.h"

namespace wf::advice {

class ExactSum {
 public:
  void Add(double value, uint64_t weight);  // finite ones only
  __extension__ void Add(__int128 value);
  void Merge(const ExactSum& other, uint64_t weight);
  double Round() const;  // to nearest, ties to even; infinite beyond the greatest double

  void Encode(Writer& out) const;
  bool Decode(Reader& in);

 private:
  // Bit 0 is worth 2^-1074, the least double. The greatest needs 2,098 bits, a weight 64 more, and there is room for
  // 2^128 of those; two's complement.
  static constexpr size_t kWords = 36;
  static constexpr int kLeastExponent = 1074;
  using Words = std::array<uint64_t, kWords>;

  bool negative() const { return (words_[kWords - 1] >> 63) != 0; }
  Words Magnitude() const;
  // Adds or subtracts `low` + `high` * 2^64, shifted up by `shift` bits.
  void AddShifted(uint64_t low, uint64_t high, unsigned shift, bool subtract);

  Words words_{};
};

}  // namespace wf::advice
