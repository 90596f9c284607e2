#include "advice/distinct.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wf::advice {
namespace {

// The estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog sketches": unbiased from one value to
// 2^64, without the tables or the seam that the original's small-range correction has.
double Sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1, z = x, before;
  do {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  } while (z != before);
  return z;
}

double Tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1, z = 1 - x, before;
  do {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  } while (z != before);
  return z / 3;
}

}  // namespace

void Distinct::AddToSketch(uint64_t hash) {
  const size_t index = hash >> (64 - kIndexBits);
  const uint64_t rest = hash << kIndexBits;
  const unsigned zeros = rest == 0 ? 64 - kIndexBits : static_cast<unsigned>(__builtin_clzll(rest));
  registers_[index] = std::max(registers_[index], static_cast<uint8_t>(zeros + 1));
}

void Distinct::Coarsen() {
  registers_.assign(kRegisters, 0);
  for (const uint64_t hash : hashes_) AddToSketch(hash);
  hashes_ = {};
}

void Distinct::Add(uint64_t hash) {
  if (!registers_.empty()) return AddToSketch(hash);
  const auto at = std::lower_bound(hashes_.begin(), hashes_.end(), hash);
  if (at != hashes_.end() && *at == hash) return;
  hashes_.insert(at, hash);
  if (hashes_.size() > kMaxExact) Coarsen();
}

void Distinct::Merge(const Distinct& other) {
  if (registers_.empty() && !other.registers_.empty()) Coarsen();
  for (const uint64_t hash : other.hashes_) Add(hash);
  for (size_t i = 0; i < other.registers_.size(); ++i)
    registers_[i] = std::max(registers_[i], other.registers_[i]);
}

uint64_t Distinct::Estimate() const {
  if (registers_.empty()) return hashes_.size();
  constexpr unsigned kMost = 64 - kIndexBits;
  size_t counts[kMost + 2] = {};
  for (const uint8_t value : registers_) ++counts[value];
  constexpr auto m = static_cast<double>(kRegisters);
  double z = m * Tau(1 - static_cast<double>(counts[kMost + 1]) / m);
  for (unsigned k = kMost; k >= 1; --k) z = 0.5 * (z + static_cast<double>(counts[k]));
  z += m * Sigma(static_cast<double>(counts[0]) / m);
  const double estimate = m * m / (2 * std::log(2.0) * z);
  return estimate < 9e18 ? static_cast<uint64_t>(std::llround(estimate)) : uint64_t{1} << 63;
}

void Distinct::Encode(Writer& out) const {
  if (registers_.empty()) {
    out.Varint(hashes_.size() << 1);
    for (const uint64_t hash : hashes_) out.Fixed64(hash);
    return;
  }
  size_t used = 0;
  for (const uint8_t value : registers_) used += value != 0 ? 1 : 0;
  out.Varint(used << 1 | 1);
  size_t next = 0;
  for (size_t i = 0; i < kRegisters; ++i) {
    if (registers_[i] == 0) continue;
    out.Varint(i - next);
    out.Byte(registers_[i]);
    next = i + 1;
  }
}

bool Distinct::Decode(Reader& in) {
  const uint64_t head = in.Varint();
  const uint64_t size = head >> 1;
  if (!in.ok()) return false;
  if ((head & 1) == 0) {
    if (size > kMaxExact || size > in.left() / 8) return false;
    hashes_.reserve(size);
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t hash = in.Fixed64();
      if (i != 0 && hash <= hashes_.back()) return false;
      hashes_.push_back(hash);
    }
    return in.ok();
  }
  if (size < kMinUsedRegisters || size > kRegisters || size > in.left() / 2) return false;
  registers_.assign(kRegisters, 0);
  size_t next = 0;
  for (uint64_t i = 0; i < size; ++i) {
    const uint64_t gap = in.Varint();
    if (gap >= kRegisters - next) return false;
    const uint8_t value = in.Byte();
    if (!in.ok() || value == 0 || value > 64 - kIndexBits + 1) return false;
    next += static_cast<size_t>(gap);
    registers_[next++] = value;
    if (next == kRegisters && i + 1 < size) return false;
  }
  return true;
}

}  // namespace wf::advice
