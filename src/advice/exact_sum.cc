#include "advice/exact_sum.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace wf::advice {
namespace {

__extension__ using Uint128 = unsigned __int128;

template <class Words>
void Complement(Words& words) {
  bool carry = true;
  for (uint64_t& word : words) {
    word = ~word + (carry ? 1 : 0);
    carry = carry && word == 0;
  }
}

}  // namespace

ExactSum::Words ExactSum::Magnitude() const {
  Words words = words_;
  if (negative()) Complement(words);
  return words;
}

void ExactSum::AddShifted(uint64_t low, uint64_t high, unsigned shift, bool subtract) {
  const size_t first = shift / 64;
  const unsigned bits = shift % 64;
  uint64_t parts[3] = {low << bits, high << bits, 0};
  if (bits != 0) {
    parts[1] |= low >> (64 - bits);
    parts[2] = high >> (64 - bits);
  }
  uint64_t carry = 0;
  for (size_t i = first; i < kWords; ++i) {
    const size_t part = i - first;
    if (part >= 3 && carry == 0) break;
    const uint64_t operand = part < 3 ? parts[part] : 0;
    uint64_t result;
    if (subtract) {
      const bool a = __builtin_sub_overflow(words_[i], operand, &result);
      const bool b = __builtin_sub_overflow(result, carry, &result);
      carry = a || b ? 1 : 0;
    } else {
      const bool a = __builtin_add_overflow(words_[i], operand, &result);
      const bool b = __builtin_add_overflow(result, carry, &result);
      carry = a || b ? 1 : 0;
    }
    words_[i] = result;
  }
}

void ExactSum::Add(double value, uint64_t weight) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  const auto exponent = static_cast<unsigned>((bits >> 52) & 0x7ff);
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff) return;
  if (exponent != 0) mantissa |= uint64_t{1} << 52;
  const Uint128 product = static_cast<Uint128>(mantissa) * weight;
  AddShifted(static_cast<uint64_t>(product), static_cast<uint64_t>(product >> 64),
             exponent != 0 ? exponent - 1 : 0, (bits >> 63) != 0);
}

__extension__ void ExactSum::Add(__int128 value) {
  const Uint128 magnitude =
      value < 0 ? Uint128{0} - static_cast<Uint128>(value) : static_cast<Uint128>(value);
  AddShifted(static_cast<uint64_t>(magnitude), static_cast<uint64_t>(magnitude >> 64),
             kLeastExponent, value < 0);
}

void ExactSum::Merge(const ExactSum& other, uint64_t weight) {
  const Words words = other.Magnitude();
  const bool subtract = other.negative();
  for (size_t i = 0; i < kWords; ++i) {
    if (words[i] == 0) continue;
    const Uint128 product = static_cast<Uint128>(words[i]) * weight;
    AddShifted(static_cast<uint64_t>(product), static_cast<uint64_t>(product >> 64),
               static_cast<unsigned>(i * 64), subtract);
  }
}

double ExactSum::Round() const {
  const Words words = Magnitude();
  size_t top = kWords;
  while (top > 0 && words[top - 1] == 0) --top;
  if (top == 0) return 0;
  const size_t length = top * 64 - static_cast<size_t>(__builtin_clzll(words[top - 1]));
  const auto bit = [&words](size_t i) { return (words[i / 64] >> (i % 64)) & 1; };

  uint64_t mantissa = 0;
  size_t shift = 0;  // bits below the mantissa
  if (length <= 53) {
    mantissa = words[0];
  } else {
    shift = length - 53;
    for (size_t i = 0; i < 53; ++i) mantissa |= bit(shift + i) << i;
    bool sticky = false;
    for (size_t i = 0; i + 1 < shift && !sticky; ++i) sticky = bit(i) != 0;
    if (bit(shift - 1) != 0 && (sticky || (mantissa & 1) != 0)) ++mantissa;
  }
  // Exact from here: the mantissa has 53 bits, and the least bit is never below 2^-1074.
  const double value =
      std::ldexp(static_cast<double>(mantissa), static_cast<int>(shift) - kLeastExponent);
  return negative() ? -value : value;
}

// Sign and the bytes that are not zero at either end: a sum of a few like numbers takes about ten bytes.
void ExactSum::Encode(Writer& out) const {
  const Words words = Magnitude();
  const auto* bytes = reinterpret_cast<const char*>(words.data());
  size_t begin = 0, end = sizeof(Words);
  while (end > 0 && bytes[end - 1] == 0) --end;
  while (begin < end && bytes[begin] == 0) ++begin;
  out.Varint(begin << 1 | (negative() ? 1 : 0));
  out.Text({bytes + begin, end - begin});
}

bool ExactSum::Decode(Reader& in) {
  const uint64_t head = in.Varint();
  const std::string_view text = in.Text();
  const uint64_t begin = head >> 1;
  if (!in.ok() || begin > sizeof(Words) || text.size() > sizeof(Words) - begin) return false;
  words_ = {};
  if (!text.empty())
    std::memcpy(reinterpret_cast<char*>(words_.data()) + begin, text.data(), text.size());
  const bool below_zero = (head & 1) != 0;
  if (below_zero) Complement(words_);
  return negative() == below_zero;  // a magnitude that reaches the sign is only the least number's
}

}  // namespace wf::advice
