// The state of one aggregate: mergeable in any order with the same result, so that it may be computed where the tuples
// are, travel in baggage, and be combined elsewhere. "Weight" is the multiplicity of a tuple: joins are bags.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "advice/value.h"

namespace wf::advice {

class Writer;
class Reader;

enum class AggregateKind : uint8_t {
  kCount,  // tuples, or those whose argument is not null
  kSum,    // exact: integers in 128 bits, doubles as an expansion, rounded once at the end
  kMin,
  kMax,
  kAverage,     // travels as (sum, count)
  kPercentile,  // exact for few values, then buckets of relative width under 1 %
  kDistinct,    // exact to 1,000 values, then a sketch within 2 %
  kHistogram,   // powers of two
};

struct Aggregate {
  AggregateKind kind = AggregateKind::kCount;
  double parameter = 0;  // PERCENTILE's p, 0 to 100
};

class AggregateState {
 public:
  explicit AggregateState(AggregateKind kind);
  AggregateState(const AggregateState& other);
  AggregateState& operator=(const AggregateState& other);
  AggregateState(AggregateState&&) noexcept;
  AggregateState& operator=(AggregateState&&) noexcept;
  ~AggregateState();

  AggregateKind kind() const { return kind_; }
  // COUNT of tuples adds any value that is not null: give it `true`.
  void Add(const Value& value, uint64_t weight);
  // The same of a COUNT, for a value that is not null.
  void AddCount(uint64_t weight) {
    uint64_t sum;
    count_ = __builtin_add_overflow(count_, weight, &sum) ? UINT64_MAX : sum;
  }
  // As if every value of `other` (of the same kind) had been added `weight` times as often as it was there.
  void Merge(const AggregateState& other, uint64_t weight);
  // What was added up elsewhere (a kernel map): as if `count` numbers that sum up to `sum` had been added. For COUNT,
  // SUM and AVERAGE; nothing happens if `count` is 0.
  void AddSum(int64_t sum, uint64_t count);
  Value Finish(const Aggregate& aggregate) const;

  void Encode(std::string& out) const;
  void Encode(Writer& out) const;
  // Takes one state from the front of `bytes`; false if they are not one. Bounded by the size of `bytes`.
  static bool Decode(AggregateKind kind, std::string_view& bytes, AggregateState& out);
  static bool Decode(AggregateKind kind, Reader& in, AggregateState& out);

 private:
  struct Body;
  __extension__ using Int128 = __int128;

  Body& body();
  void AddNumber(const Value& value, uint64_t weight);
  void TakeExtreme(const Value& value);
  Value FinishSum() const;

  // COUNT, integer SUM and AVERAGE, MIN and MAX live here without an allocation; doubles and sketches need a body.
  AggregateKind kind_;
  bool real_ = false;    // MIN, MAX: extreme_ holds the bits of a double
  uint64_t count_ = 0;   // COUNT, AVERAGE: how many; SUM, MIN, MAX: 1 if there was anything
  Int128 integers_ = 0;  // SUM, AVERAGE: the integers' part
  int64_t extreme_ = 0;  // MIN, MAX
  std::unique_ptr<Body> body_;
};

// Counts do not wrap: they stay at the greatest.
uint64_t AddCounts(uint64_t a, uint64_t b);
uint64_t MultiplyCounts(uint64_t a, uint64_t b);

}  // namespace wf::advice
