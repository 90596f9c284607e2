#include "advice/value.h"

#include <cmath>
#include <cstring>

#include "base/hash.h"

namespace wf::advice {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;

bool IsNumber(const Value& value) { return value.index() == 2 || value.index() == 3; }

double AsDouble(const Value& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : *std::get_if<double>(&value);
}

Value Finite(double value) {
  if (!std::isfinite(value)) return Null();
  return value;
}

template <class T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// Exact: a double has no room for every 64-bit integer, so neither side is converted before it is known to fit.
int CompareExact(int64_t a, double b) {
  if (b != b) return -1;
  if (b >= kTwo63) return -1;
  if (b < -kTwo63) return 1;
  const auto whole = static_cast<int64_t>(b);
  if (a != whole) return a < whole ? -1 : 1;
  return Order(static_cast<double>(whole), b);
}

int CompareNumbers(const Value& a, const Value& b) {
  const auto* ai = std::get_if<int64_t>(&a);
  const auto* bi = std::get_if<int64_t>(&b);
  if (ai != nullptr) {
    return bi != nullptr ? Order(*ai, *bi) : CompareExact(*ai, *std::get_if<double>(&b));
  }
  const double ad = *std::get_if<double>(&a);
  if (bi != nullptr) return -CompareExact(*bi, ad);
  return Order(ad, *std::get_if<double>(&b));
}

// null, booleans, numbers, strings, lists
int Rank(const Value& value) {
  static constexpr int kRanks[] = {0, 1, 2, 2, 3, 4};
  return kRanks[value.index()];
}

template <class Function>
Value Arithmetic(const Value& a, const Value& b, Function&& doubles) {
  if (!IsNumber(a) || !IsNumber(b)) return Null();
  return Finite(doubles(AsDouble(a), AsDouble(b)));
}

uint64_t Bits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}

uint64_t HashNumber(uint64_t bits, uint64_t type) {
  return MixBits(bits + type * 0x9E3779B97F4A7C15ull + 0x1234567);
}

}  // namespace

int Compare(const Value& a, const Value& b) {
  const int rank = Rank(a);
  if (const int other = Rank(b); rank != other) return rank < other ? -1 : 1;
  switch (rank) {
    case 1:
      return Order(*std::get_if<bool>(&a), *std::get_if<bool>(&b));
    case 2:
      return CompareNumbers(a, b);
    case 3:
      return std::get_if<std::string>(&a)->compare(*std::get_if<std::string>(&b));
    case 4: {
      const List& x = *std::get_if<List>(&a);
      const List& y = *std::get_if<List>(&b);
      for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
        if (const int order = Compare(x[i], y[i]); order != 0) return order;
      }
      return Order(x.size(), y.size());
    }
    default:
      return 0;
  }
}

bool SameKey(const Value& a, const Value& b) { return Compare(a, b) == 0; }

uint64_t HashKey(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) {
    // An integral double is the integer's key.
    if (*real >= -kTwo63 && *real < kTwo63) {
      const auto whole = static_cast<int64_t>(*real);
      if (static_cast<double>(whole) == *real) return HashNumber(static_cast<uint64_t>(whole), 2);
    }
  }
  if (const auto* list = std::get_if<List>(&value)) {
    uint64_t hash = 5;
    for (const Value& element : *list) hash = MixBits(hash ^ HashKey(element)) + 1;
    return hash;
  }
  return HashIdentity(value);
}

const Value& ShownKey(const Value& a, const Value& b) {
  if (a.index() != b.index()) return std::holds_alternative<int64_t>(b) ? b : a;
  // 0.0 rather than -0.0
  const auto* real = std::get_if<double>(&a);
  return real != nullptr && std::signbit(*real) && !std::signbit(*std::get_if<double>(&b)) ? b : a;
}

bool Identical(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  switch (a.index()) {
    case 1:
      return *std::get_if<bool>(&a) == *std::get_if<bool>(&b);
    case 2:
      return *std::get_if<int64_t>(&a) == *std::get_if<int64_t>(&b);
    case 3:
      return Bits(*std::get_if<double>(&a)) == Bits(*std::get_if<double>(&b));
    case 4:
      return *std::get_if<std::string>(&a) == *std::get_if<std::string>(&b);
    case 5: {
      const List& x = *std::get_if<List>(&a);
      const List& y = *std::get_if<List>(&b);
      if (x.size() != y.size()) return false;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!Identical(x[i], y[i])) return false;
      }
      return true;
    }
    default:
      return true;
  }
}

[[gnu::hot]] uint64_t HashText(std::string_view text) { return HashBytes(text, kTextHashSeed); }

uint64_t HashIdentity(const Value& value) {
  switch (value.index()) {
    case 1:
      return HashNumber(*std::get_if<bool>(&value) ? 1 : 0, 1);
    case 2:
      return HashNumber(static_cast<uint64_t>(*std::get_if<int64_t>(&value)), 2);
    case 3:
      return HashNumber(Bits(*std::get_if<double>(&value)), 3);
    case 4:
      return HashText(*std::get_if<std::string>(&value));
    case 5: {
      uint64_t hash = 5;
      for (const Value& element : *std::get_if<List>(&value))
        hash = MixBits(hash ^ HashIdentity(element)) + 1;
      return hash;
    }
    default:
      return HashNumber(0, 0);
  }
}

Value Add(const Value& a, const Value& b) {
  const auto* x = std::get_if<int64_t>(&a);
  const auto* y = std::get_if<int64_t>(&b);
  int64_t whole;
  if (x != nullptr && y != nullptr && !__builtin_add_overflow(*x, *y, &whole)) return whole;
  return Arithmetic(a, b, [](double p, double q) { return p + q; });
}

Value Subtract(const Value& a, const Value& b) {
  const auto* x = std::get_if<int64_t>(&a);
  const auto* y = std::get_if<int64_t>(&b);
  int64_t whole;
  if (x != nullptr && y != nullptr && !__builtin_sub_overflow(*x, *y, &whole)) return whole;
  return Arithmetic(a, b, [](double p, double q) { return p - q; });
}

Value Multiply(const Value& a, const Value& b) {
  const auto* x = std::get_if<int64_t>(&a);
  const auto* y = std::get_if<int64_t>(&b);
  int64_t whole;
  if (x != nullptr && y != nullptr && !__builtin_mul_overflow(*x, *y, &whole)) return whole;
  return Arithmetic(a, b, [](double p, double q) { return p * q; });
}

Value Divide(const Value& a, const Value& b) {
  if (!IsNumber(a) || !IsNumber(b)) return Null();
  const double divisor = AsDouble(b);
  if (divisor == 0) return Null();
  return Finite(AsDouble(a) / divisor);
}

Value Negate(const Value& a) {
  if (const auto* real = std::get_if<double>(&a)) return Finite(-*real);
  return Subtract(Value(int64_t{0}), a);
}

bool Holds(Comparison comparison, const Value& a, const Value& b) {
  const int rank = Rank(a);
  if (rank != Rank(b) || rank == 0 || rank == 4) return false;
  const bool equality = comparison == Comparison::kEqual || comparison == Comparison::kNotEqual;
  if (rank == 1 && !equality) return false;
  const int order = Compare(a, b);
  switch (comparison) {
    case Comparison::kEqual:
      return order == 0;
    case Comparison::kNotEqual:
      return order != 0;
    case Comparison::kLess:
      return order < 0;
    case Comparison::kLessEqual:
      return order <= 0;
    case Comparison::kGreater:
      return order > 0;
    case Comparison::kGreaterEqual:
      return order >= 0;
  }
  return false;
}

}  // namespace wf::advice
