#include "advice/quantiles.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "advice/aggregate.h"

namespace wf::advice {
namespace {

// A double's upper 19 bits: sign, exponent and the seven leading bits of the mantissa.
constexpr unsigned kDropped = 45;
constexpr int32_t kMaxKey = (1 << 18) - 1;

double Bound(int32_t key, bool middle) {
  const auto upper = static_cast<uint64_t>(key);
  const uint64_t bits = upper << kDropped | (middle ? uint64_t{1} << (kDropped - 1) : 0);
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}

int64_t ToInteger(double value) {
  constexpr double kTwo63 = 9223372036854775808.0;
  return value >= kTwo63 ? INT64_MAX : static_cast<int64_t>(value);
}

}  // namespace

// Ascending with the number; below zero mirrored: -1 - key of the magnitude.
int32_t Quantiles::KeyOf(const Value& number) {
  const auto* integer = std::get_if<int64_t>(&number);
  const double value =
      integer != nullptr ? static_cast<double>(*integer) : *std::get_if<double>(&number);
  const double magnitude = std::fabs(value);
  uint64_t bits;
  std::memcpy(&bits, &magnitude, 8);
  const auto key = static_cast<int32_t>(bits >> kDropped);
  return value < 0 ? -1 - key : key;
}

// Of integers an integer: below 256 a bucket holds only one.
Value Quantiles::Middle(int32_t key) const {
  const bool negative = key < 0;
  const int32_t magnitude = negative ? -1 - key : key;
  if (magnitude == 0)
    return integers_ ? Value(int64_t{0}) : Value(0.0);  // and what is below 1e-308
  if (!integers_) {
    const double middle = Bound(magnitude, true);
    return negative ? -middle : middle;
  }
  const int64_t low = ToInteger(std::ceil(Bound(magnitude, false)));
  const double above = Bound(magnitude + 1, false);
  const int64_t high = std::max(low, ToInteger(std::ceil(above)) - 1);
  const int64_t middle = low + (high - low) / 2;
  return negative ? -middle : middle;
}

void Quantiles::AddBucket(int32_t key, uint64_t weight) {
  const auto at = std::lower_bound(buckets_.begin(), buckets_.end(), key,
                                   [](const Bucket& bucket, int32_t k) { return bucket.key < k; });
  if (at != buckets_.end() && at->key == key) {
    at->weight = AddCounts(at->weight, weight);
  } else {
    buckets_.insert(at, {key, weight});
  }
}

void Quantiles::Coarsen() {
  exact_ = false;
  for (const Number& number : numbers_) AddBucket(KeyOf(number.value), number.weight);
  numbers_ = {};
}

void Quantiles::Add(const Value& number, uint64_t weight) {
  if (weight == 0) return;
  integers_ = integers_ && std::holds_alternative<int64_t>(number);
  if (!exact_) return AddBucket(KeyOf(number), weight);
  const auto at =
      std::lower_bound(numbers_.begin(), numbers_.end(), number,
                       [](const Number& a, const Value& b) { return Compare(a.value, b) < 0; });
  if (at != numbers_.end() && SameKey(at->value, number)) {
    at->value = ShownKey(at->value, number);
    at->weight = AddCounts(at->weight, weight);
  } else {
    numbers_.insert(at, {number, weight});
    if (numbers_.size() > kMaxExact) Coarsen();
  }
}

void Quantiles::Merge(const Quantiles& other, uint64_t weight) {
  if (weight == 0) return;
  integers_ = integers_ && other.integers_;
  if (exact_ && !other.exact_) Coarsen();
  for (const Number& number : other.numbers_)
    Add(number.value, MultiplyCounts(number.weight, weight));
  for (const Bucket& bucket : other.buckets_)
    AddBucket(bucket.key, MultiplyCounts(bucket.weight, weight));
}

Value Quantiles::Percentile(double p) const {
  uint64_t total = 0;
  for (const Number& number : numbers_) total = AddCounts(total, number.weight);
  for (const Bucket& bucket : buckets_) total = AddCounts(total, bucket.weight);
  if (total == 0) return Null();
  const double rank = std::ceil(p * static_cast<double>(total) / 100);
  uint64_t left = rank >= static_cast<double>(total) ? total
                  : rank > 1                         ? static_cast<uint64_t>(rank)
                                                     : 1;
  for (const Number& number : numbers_) {
    if (number.weight >= left) return number.value;
    left -= number.weight;
  }
  for (const Bucket& bucket : buckets_) {
    if (bucket.weight >= left) return Middle(bucket.key);
    left -= bucket.weight;
  }
  return exact_ ? numbers_.back().value : Middle(buckets_.back().key);
}

void Quantiles::Encode(Writer& out) const {
  StringTable none;
  const size_t size = exact_ ? numbers_.size() : buckets_.size();
  out.Varint(size << 2 | (integers_ ? 2 : 0) | (exact_ ? 1 : 0));
  for (const Number& number : numbers_) {
    WriteValue(number.value, out, none);
    out.Varint(number.weight);
  }
  int64_t last = 0;
  for (const Bucket& bucket : buckets_) {
    out.Signed(bucket.key - last);  // the first may be negative
    out.Varint(bucket.weight);
    last = bucket.key;
  }
}

bool Quantiles::Decode(Reader& in) {
  const uint64_t head = in.Varint();
  exact_ = (head & 1) != 0;
  integers_ = (head & 2) != 0;
  const uint64_t size = head >> 2;
  if (!in.ok() || size > in.left() / 2 || (exact_ && size > kMaxExact)) return false;
  StringReferences none;
  int64_t last = INT64_MIN / 2;
  for (uint64_t i = 0; i < size && in.ok(); ++i) {
    if (exact_) {
      const Value value = ReadValue(in, none);
      const bool integer = std::holds_alternative<int64_t>(value);
      if (!integer && (integers_ || !std::holds_alternative<double>(value))) return false;
      if (i != 0 && Compare(numbers_.back().value, value) >= 0) return false;
      numbers_.push_back({value, in.Varint()});
    } else {
      const int64_t step = in.Signed();
      if (step < -kMaxKey - 1 || step > 2 * int64_t{kMaxKey} + 1) return false;
      const int64_t key = (i == 0 ? 0 : last) + step;
      if (key < -1 - kMaxKey || key > kMaxKey || (i != 0 && key <= last)) return false;
      buckets_.push_back({static_cast<int32_t>(key), in.Varint()});
      last = key;
    }
  }
  return in.ok();
}

}  // namespace wf::advice
