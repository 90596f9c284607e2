// A value of a query: what a tracepoint exports, what baggage carries and what a row of the answer shows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace wf::advice {

using Null = std::monostate;

// A list is a variable observed at a tracepoint (every element gives a tuple) or a finished HISTOGRAM; expressions
// never see one.
struct Value;
using List = std::vector<Value>;
struct Value : std::variant<Null, bool, int64_t, double, std::string, List> {
  using variant::variant;
  bool null() const { return index() == 0; }
};

// The order of rows in an answer: null, false, true, numbers, strings by bytes, lists. 1 and 1.0 compare equal here.
// Below 0, 0 or above 0.
int Compare(const Value& a, const Value& b);
// Whether two keys are the same group: integers and doubles of equal value are.
bool SameKey(const Value& a, const Value& b);
uint64_t HashKey(const Value& value);
// Of two keys of one group the one to show, whichever came first: the integer.
const Value& ShownKey(const Value& a, const Value& b);
// The same type and the same value: what baggage may count as one tuple (1 and 1.0 differ there: 1 + 1 is not 2.0).
bool Identical(const Value& a, const Value& b);
uint64_t HashIdentity(const Value& value);
uint64_t HashText(std::string_view text);  // of a string, both: HashBytes with this seed
inline constexpr uint64_t kTextHashSeed = 4;

// 64-bit arithmetic of queries: an integer result outside 64 bits becomes a double; x / 0, what is not finite and
// anything on non-numbers is null; `/` gives a double.
Value Add(const Value& a, const Value& b);
Value Subtract(const Value& a, const Value& b);
Value Multiply(const Value& a, const Value& b);
Value Divide(const Value& a, const Value& b);
Value Negate(const Value& a);

// False unless both are numbers, strings or booleans; booleans only know = and !=.
enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
bool Holds(Comparison comparison, const Value& a, const Value& b);

}  // namespace wf::advice
