// The state of PERCENTILE: the numbers themselves while there are few different ones, then counts of buckets that
// split every power of two into 128. A bucket's middle is off by 0.4 % at most, and whether numbers were added one by
// one or merged in any order makes no difference: what is kept depends on the set of numbers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "advice/value.h"
#include "advice/wire.h"

namespace wf::advice {

class Quantiles {
 public:
  static constexpr size_t kMaxExact = 256;  // different numbers

  void Add(const Value& number, uint64_t weight);
  void Merge(const Quantiles& other, uint64_t weight);
  // Nearest rank: the least number that at least p % of all do not exceed. Null if there is none.
  Value Percentile(double p) const;

  void Encode(Writer& out) const;
  bool Decode(Reader& in);

 private:
  struct Number {
    Value value;
    uint64_t weight;
  };
  struct Bucket {
    int32_t key;
    uint64_t weight;
  };
  static int32_t KeyOf(const Value& number);
  Value Middle(int32_t key) const;
  void AddBucket(int32_t key, uint64_t weight);
  void Coarsen();

  bool exact_ = true;
  bool integers_ = true;         // nothing but integers was added
  std::vector<Number> numbers_;  // ascending; equal ones are one, shown as the integer
  std::vector<Bucket> buckets_;  // ascending
};

}  // namespace wf::advice
