#include "advice/aggregate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "advice/distinct.h"
#include "advice/exact_sum.h"
#include "advice/quantiles.h"
#include "advice/wire.h"

namespace wf::advice {
namespace {

__extension__ using Uint128 = unsigned __int128;
__extension__ using Int128Bits = __int128;

// Counts by power of two. Bucket -1 holds what is below 0, bucket 0 what is below 1, bucket k + 1 what is below
// 2^(k + 1).
class Powers {
 public:
  static constexpr int kMost = 1024;

  void Add(int bucket, uint64_t weight) {
    const auto at = std::lower_bound(counts_.begin(), counts_.end(), bucket,
                                     [](const Count& a, int b) { return a.bucket < b; });
    if (at != counts_.end() && at->bucket == bucket) {
      at->weight = AddCounts(at->weight, weight);
    } else {
      counts_.insert(at, {bucket, weight});
    }
  }
  void Merge(const Powers& other, uint64_t weight) {
    for (const Count& count : other.counts_)
      Add(count.bucket, MultiplyCounts(count.weight, weight));
  }

  static int BucketOf(const Value& number) {
    if (const auto* integer = std::get_if<int64_t>(&number)) {
      if (*integer <= 0) return *integer < 0 ? -1 : 0;
      return 64 - __builtin_clzll(static_cast<uint64_t>(*integer));
    }
    const double value = *std::get_if<double>(&number);
    if (value < 1) return value < 0 ? -1 : 0;
    return std::ilogb(value) + 1;
  }
  static Value Low(int bucket) {
    if (bucket < 0) return Null();
    if (bucket == 0) return int64_t{0};
    if (bucket <= 63) return static_cast<int64_t>(uint64_t{1} << (bucket - 1));
    return std::ldexp(1.0, bucket - 1);
  }
  Value Finish() const;

  void Encode(Writer& out) const {
    out.Varint(counts_.size());
    for (const Count& count : counts_) {
      out.Varint(static_cast<uint64_t>(count.bucket + 1));
      out.Varint(count.weight);
    }
  }
  bool Decode(Reader& in) {
    const size_t size = in.Count();
    for (size_t i = 0; i < size && in.ok(); ++i) {
      const uint64_t bucket = in.Varint();
      if (bucket > kMost + 1) return false;
      const int index = static_cast<int>(bucket) - 1;
      if (i != 0 && index <= counts_.back().bucket) return false;
      counts_.push_back({index, in.Varint()});
    }
    return in.ok();
  }

 private:
  struct Count {
    int bucket;
    uint64_t weight;
  };
  std::vector<Count> counts_;  // ascending
};

Value FromCount(uint64_t count) {
  if (count <= static_cast<uint64_t>(INT64_MAX)) return static_cast<int64_t>(count);
  return static_cast<double>(count);
}

Value Powers::Finish() const {
  if (counts_.empty()) return Null();
  List list;
  list.reserve(counts_.size());
  for (const Count& count : counts_) {
    List bucket;
    bucket.reserve(2);
    bucket.push_back(Low(count.bucket));
    bucket.push_back(FromCount(count.weight));
    list.emplace_back(std::move(bucket));
  }
  return list;
}

// Finite numbers: what the numeric aggregates take.
bool IsFiniteNumber(const Value& value) {
  if (std::holds_alternative<int64_t>(value)) return true;
  const auto* real = std::get_if<double>(&value);
  return real != nullptr && std::isfinite(*real);
}

int64_t BitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}

double DoubleOf(int64_t bits) {
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}

}  // namespace

uint64_t AddCounts(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t MultiplyCounts(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

struct AggregateState::Body {
  std::variant<ExactSum, Quantiles, Distinct, Powers> is;
};

AggregateState::AggregateState(AggregateKind kind) : kind_(kind) {}
AggregateState::AggregateState(const AggregateState& other)
    : kind_(other.kind_),
      real_(other.real_),
      count_(other.count_),
      integers_(other.integers_),
      extreme_(other.extreme_),
      body_(other.body_ != nullptr ? std::make_unique<Body>(*other.body_) : nullptr) {}
AggregateState& AggregateState::operator=(const AggregateState& other) {
  if (this != &other) *this = AggregateState(other);
  return *this;
}
AggregateState::AggregateState(AggregateState&&) noexcept = default;
AggregateState& AggregateState::operator=(AggregateState&&) noexcept = default;
AggregateState::~AggregateState() = default;

AggregateState::Body& AggregateState::body() {
  if (body_ == nullptr) {
    body_ = std::make_unique<Body>();
    if (kind_ == AggregateKind::kPercentile) body_->is.emplace<Quantiles>();
    if (kind_ == AggregateKind::kDistinct) body_->is.emplace<Distinct>();
    if (kind_ == AggregateKind::kHistogram) body_->is.emplace<Powers>();
  }
  return *body_;
}

void AggregateState::Add(const Value& value, uint64_t weight) {
  if (weight == 0 || value.null()) return;
  switch (kind_) {
    case AggregateKind::kCount:
      count_ = AddCounts(count_, weight);
      return;
    case AggregateKind::kDistinct:
      return std::get_if<Distinct>(&body().is)->Add(HashKey(value));
    default:
      if (IsFiniteNumber(value)) AddNumber(value, weight);
  }
}

void AggregateState::AddNumber(const Value& value, uint64_t weight) {
  switch (kind_) {
    case AggregateKind::kSum:
    case AggregateKind::kAverage:
      count_ = kind_ == AggregateKind::kSum ? 1 : AddCounts(count_, weight);
      if (const auto* integer = std::get_if<int64_t>(&value)) {
        // In unsigned arithmetic: what no true input can reach must not be undefined for a hostile one.
        integers_ = static_cast<Int128>(static_cast<Uint128>(integers_) +
                                        static_cast<Uint128>(static_cast<Int128>(*integer)) *
                                            static_cast<Uint128>(weight));
      } else {
        std::get_if<ExactSum>(&body().is)->Add(*std::get_if<double>(&value), weight);
      }
      return;
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      return TakeExtreme(value);
    case AggregateKind::kPercentile:
      return std::get_if<Quantiles>(&body().is)->Add(value, weight);
    case AggregateKind::kHistogram:
      return std::get_if<Powers>(&body().is)->Add(Powers::BucketOf(value), weight);
    default:
      return;
  }
}

void AggregateState::TakeExtreme(const Value& value) {
  Value taken = value;
  if (count_ != 0) {
    const Value mine = real_ ? Value(DoubleOf(extreme_)) : Value(extreme_);
    const int order = Compare(value, mine);
    if (order == 0) {
      taken = ShownKey(mine, value);
    } else if ((order < 0) != (kind_ == AggregateKind::kMin)) {
      return;
    }
  }
  count_ = 1;
  const auto* real = std::get_if<double>(&taken);
  real_ = real != nullptr;
  extreme_ = real_ ? BitsOf(*real) : *std::get_if<int64_t>(&taken);
}

void AggregateState::AddSum(int64_t sum, uint64_t count) {
  if (count == 0) return;
  if (kind_ == AggregateKind::kCount) count_ = AddCounts(count_, count);
  if (kind_ != AggregateKind::kSum && kind_ != AggregateKind::kAverage) return;
  integers_ = static_cast<Int128>(static_cast<Uint128>(integers_) +
                                  static_cast<Uint128>(static_cast<Int128>(sum)));
  count_ = kind_ == AggregateKind::kSum ? 1 : AddCounts(count_, count);
}

void AggregateState::Merge(const AggregateState& other, uint64_t weight) {
  if (weight == 0 || other.kind_ != kind_) return;
  switch (kind_) {
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      if (other.count_ != 0)
        TakeExtreme(other.real_ ? Value(DoubleOf(other.extreme_)) : Value(other.extreme_));
      return;
    case AggregateKind::kSum:
      count_ |= other.count_;
      break;
    default:
      count_ = AddCounts(count_, MultiplyCounts(other.count_, weight));
  }
  integers_ = static_cast<Int128>(static_cast<Uint128>(integers_) +
                                  static_cast<Uint128>(other.integers_) * weight);
  if (other.body_ == nullptr) return;
  auto& mine = body().is;
  const auto& theirs = other.body_->is;
  if (auto* sum = std::get_if<ExactSum>(&mine)) sum->Merge(*std::get_if<ExactSum>(&theirs), weight);
  if (auto* few = std::get_if<Quantiles>(&mine))
    few->Merge(*std::get_if<Quantiles>(&theirs), weight);
  if (auto* seen = std::get_if<Distinct>(&mine)) seen->Merge(*std::get_if<Distinct>(&theirs));
  if (auto* counts = std::get_if<Powers>(&mine))
    counts->Merge(*std::get_if<Powers>(&theirs), weight);
}

// Of integers an integer if it fits; one double makes it a double, rounded once.
Value AggregateState::FinishSum() const {
  double value;
  if (body_ != nullptr) {
    ExactSum sum = *std::get_if<ExactSum>(&body_->is);
    sum.Add(integers_);
    value = sum.Round();
  } else {
    if (integers_ >= INT64_MIN && integers_ <= INT64_MAX) return static_cast<int64_t>(integers_);
    value = static_cast<double>(integers_);
  }
  if (!std::isfinite(value)) return Null();
  return value;
}

Value AggregateState::Finish(const Aggregate& aggregate) const {
  switch (kind_) {
    case AggregateKind::kCount:
      return FromCount(count_);
    case AggregateKind::kSum:
      return count_ != 0 ? FinishSum() : Null();
    case AggregateKind::kAverage:
      return Divide(FinishSum(), FromCount(count_));
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      if (count_ == 0) return Null();
      return real_ ? Value(DoubleOf(extreme_)) : Value(extreme_);
    case AggregateKind::kPercentile:
      if (body_ == nullptr) return Null();
      return std::get_if<Quantiles>(&body_->is)->Percentile(aggregate.parameter);
    case AggregateKind::kDistinct:
      return body_ != nullptr ? FromCount(std::get_if<Distinct>(&body_->is)->Estimate())
                              : Value(int64_t{0});
    case AggregateKind::kHistogram:
      return body_ != nullptr ? std::get_if<Powers>(&body_->is)->Finish() : Null();
  }
  return Null();
}

// SUM and AVERAGE open with a byte of these.
enum SumFlags : uint8_t { kPresent = 1, kWide = 2, kDoubles = 4 };

void AggregateState::Encode(std::string& bytes) const {
  Writer out(bytes);
  Encode(out);
}

void AggregateState::Encode(Writer& out) const {
  switch (kind_) {
    case AggregateKind::kCount:
      return out.Varint(count_);
    case AggregateKind::kMin:
    case AggregateKind::kMax: {
      StringTable none;
      return WriteValue(count_ == 0 ? Value()
                        : real_     ? Value(DoubleOf(extreme_))
                                    : Value(extreme_),
                        out, none);
    }
    case AggregateKind::kSum:
    case AggregateKind::kAverage: {
      const bool wide = integers_ < INT64_MIN || integers_ > INT64_MAX;
      out.Byte(static_cast<uint8_t>((count_ != 0 ? kPresent : 0) | (wide ? kWide : 0) |
                                    (body_ != nullptr ? kDoubles : 0)));
      if (kind_ == AggregateKind::kAverage) out.Varint(count_);
      if (wide) {
        out.Fixed64(static_cast<uint64_t>(integers_));
        out.Fixed64(static_cast<uint64_t>(static_cast<Uint128>(integers_) >> 64));
      } else {
        out.Signed(static_cast<int64_t>(integers_));
      }
      if (body_ != nullptr) std::get_if<ExactSum>(&body_->is)->Encode(out);
      return;
    }
    default:
      break;
  }
  out.Byte(body_ != nullptr ? 1 : 0);
  if (body_ == nullptr) return;
  if (const auto* few = std::get_if<Quantiles>(&body_->is)) few->Encode(out);
  if (const auto* seen = std::get_if<Distinct>(&body_->is)) seen->Encode(out);
  if (const auto* counts = std::get_if<Powers>(&body_->is)) counts->Encode(out);
}

bool AggregateState::Decode(AggregateKind kind, std::string_view& bytes, AggregateState& out) {
  Reader in(bytes);
  if (!Decode(kind, in, out)) return false;
  bytes = in.rest();
  return true;
}

bool AggregateState::Decode(AggregateKind kind, Reader& in, AggregateState& out) {
  out = AggregateState(kind);
  switch (kind) {
    case AggregateKind::kCount:
      out.count_ = in.Varint();
      return in.ok();
    case AggregateKind::kMin:
    case AggregateKind::kMax: {
      StringReferences none;
      const Value value = ReadValue(in, none);
      if (value.null()) return in.ok();
      if (!IsFiniteNumber(value)) return false;
      out.TakeExtreme(value);
      return in.ok();
    }
    case AggregateKind::kSum:
    case AggregateKind::kAverage: {
      const uint8_t flags = in.Byte();
      if (flags > (kPresent | kWide | kDoubles)) return false;
      out.count_ = kind == AggregateKind::kAverage ? in.Varint() : flags & kPresent;
      if ((out.count_ != 0) != ((flags & kPresent) != 0)) return false;
      if ((flags & kWide) != 0) {
        const uint64_t low = in.Fixed64();
        out.integers_ = static_cast<Int128Bits>(static_cast<Uint128>(in.Fixed64()) << 64 | low);
      } else {
        out.integers_ = in.Signed();
      }
      return in.ok() &&
             ((flags & kDoubles) == 0 || std::get_if<ExactSum>(&out.body().is)->Decode(in));
    }
    default:
      break;
  }
  const uint8_t present = in.Byte();
  if (!in.ok() || present > 1) return false;
  if (present == 0) return true;
  auto& body = out.body().is;
  if (auto* few = std::get_if<Quantiles>(&body)) return few->Decode(in);
  if (auto* seen = std::get_if<Distinct>(&body)) return seen->Decode(in);
  auto* counts = std::get_if<Powers>(&body);
  return counts != nullptr && counts->Decode(in);
}

}  // namespace wf::advice
