// An expression over the columns of a tuple, as a short postfix program without jumps: it ends by construction, reads
// only the tuple and writes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "advice/cell.h"
#include "advice/value.h"

namespace wf::advice {

enum class Op : uint8_t {
  kConstant,  // operand: index into constants
  kColumn,    // operand: column of the tuple
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kNot,  // two-valued: what is not true counts as false
  kLower,
  kUpper,
  kLength,
  kContains,
  kStartsWith,
  kEndsWith,
  kBucket,
  kHas,
  kSize,  // bytes the value takes in baggage; only the counting form of a query asks
};

struct Instruction {
  Op op = Op::kConstant;
  uint32_t operand = 0;
};

struct Expression {
  std::vector<Instruction> code;
  std::vector<Value> constants;
};

// How deep a stack any expression may need; the parser and the wire reader both hold to it.
inline constexpr size_t kMaxExpressionDepth = 64;

using Tuple = std::vector<Value>;

Value Evaluate(const Expression& expression, const Value* columns, size_t count);
inline Value Evaluate(const Expression& expression, const Tuple& tuple) {
  return Evaluate(expression, tuple.data(), tuple.size());
}
// Whether it evaluates to true: what a filter asks.
bool IsTrue(const Expression& expression, const Value* columns, size_t count);
// The same of a tuple in flight.
Cell Evaluate(const Expression& expression, const Cell* columns, size_t count, MadeTexts& made);
// Every operand in range for a tuple of `columns`, the stack never empty nor too deep, one value left.
bool Valid(const Expression& expression, size_t columns);

// What the compiler builds by hand.
Expression Column(uint32_t column);
Expression Constant(Value value);

}  // namespace wf::advice
