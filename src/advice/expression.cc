// Operands are not copied: the stack holds pointers to columns and constants, and only results of operations are
// stored. A filter over two columns therefore takes no allocation, whatever the length of its strings.
#include "advice/expression.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "advice/wire.h"

namespace wf::advice {
namespace {

int Arity(Op op) {
  switch (op) {
    case Op::kConstant:
    case Op::kColumn:
      return 0;
    case Op::kNegate:
    case Op::kNot:
    case Op::kLower:
    case Op::kUpper:
    case Op::kLength:
    case Op::kHas:
    case Op::kSize:
      return 1;
    default:
      return 2;
  }
}

bool True(const Value& value) {
  const auto* boolean = std::get_if<bool>(&value);
  return boolean != nullptr && *boolean;
}

// ASCII only, whatever the locale: the same query gives the same answer on every machine.
Value MapLetters(const Value& value, char first, char last, int shift) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return Null();
  std::string mapped = *text;
  for (char& c : mapped) {
    if (c >= first && c <= last) c = static_cast<char>(c + shift);
  }
  return mapped;
}

template <class Test>
Value TestStrings(const Value& a, const Value& b, Test&& test) {
  const auto* x = std::get_if<std::string>(&a);
  const auto* y = std::get_if<std::string>(&b);
  if (x == nullptr || y == nullptr) return Null();
  return test(*x, *y);
}

// Down to a multiple of `width`, towards minus infinity.
Value Bucket(const Value& value, const Value& width) {
  const auto* x = std::get_if<int64_t>(&value);
  const auto* w = std::get_if<int64_t>(&width);
  if (x != nullptr && w != nullptr) {
    if (*w == 0) return Null();
    __extension__ using Wide = __int128;  // the multiple below may lie outside 64 bits
    const Wide width_wide = *w < 0 ? -static_cast<Wide>(*w) : static_cast<Wide>(*w);
    const Wide rest = *x % width_wide;
    const Wide down = *x - rest - (rest < 0 ? width_wide : 0);
    if (down >= INT64_MIN) return static_cast<int64_t>(down);
    return static_cast<double>(down);
  }
  const Value ratio = Divide(value, width);
  const auto* quotient = std::get_if<double>(&ratio);
  if (quotient == nullptr) return Null();
  const auto* divisor = std::get_if<double>(&width);
  // A negative width means the same multiples: the quotient must fall towards the value's minus infinity.
  const bool negative = divisor != nullptr ? *divisor < 0 : *w < 0;
  return Multiply(Value(negative ? std::ceil(*quotient) : std::floor(*quotient)), width);
}

Value Compute(Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::kAdd:
      return Add(a, b);
    case Op::kSubtract:
      return Subtract(a, b);
    case Op::kMultiply:
      return Multiply(a, b);
    case Op::kDivide:
      return Divide(a, b);
    case Op::kEqual:
      return Holds(Comparison::kEqual, a, b);
    case Op::kNotEqual:
      return Holds(Comparison::kNotEqual, a, b);
    case Op::kLess:
      return Holds(Comparison::kLess, a, b);
    case Op::kLessEqual:
      return Holds(Comparison::kLessEqual, a, b);
    case Op::kGreater:
      return Holds(Comparison::kGreater, a, b);
    case Op::kGreaterEqual:
      return Holds(Comparison::kGreaterEqual, a, b);
    case Op::kAnd:
      return True(a) && True(b);
    case Op::kOr:
      return True(a) || True(b);
    case Op::kContains:
      return TestStrings(a, b, [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
      });
    case Op::kStartsWith:
      return TestStrings(a, b, [](const std::string& text, const std::string& part) {
        return text.compare(0, part.size(), part) == 0;
      });
    case Op::kEndsWith:
      return TestStrings(a, b, [](const std::string& text, const std::string& part) {
        return text.size() >= part.size() &&
               text.compare(text.size() - part.size(), part.size(), part) == 0;
      });
    case Op::kBucket:
      return Bucket(a, b);
    default:
      return Null();
  }
}

Value Compute(Op op, const Value& a) {
  switch (op) {
    case Op::kNegate:
      return Negate(a);
    case Op::kNot:
      return !True(a);
    case Op::kLower:
      return MapLetters(a, 'A', 'Z', 'a' - 'A');
    case Op::kUpper:
      return MapLetters(a, 'a', 'z', 'A' - 'a');
    case Op::kLength: {
      const auto* text = std::get_if<std::string>(&a);
      if (text == nullptr) return Null();
      return static_cast<int64_t>(text->size());
    }
    case Op::kHas:
      return !a.null();
    case Op::kSize: {
      std::string bytes;
      StringTable strings;
      Writer out(bytes);
      WriteValue(a, out, strings);
      out.Finish();
      return static_cast<int64_t>(bytes.size());
    }
    default:
      return Null();
  }
}

// A stack of borrowed values. Results live in `results`: at most one per entry of the stack, at the entry's own place.
template <size_t kDepth>
class Stack {
 public:
  // The final operand; null if the expression was not Valid.
  const Value* Run(const Expression& expression, const Value* columns, size_t count) {
    for (const Instruction& step : expression.code) {
      const int arity = Arity(step.op);
      if (arity == 0) {
        if (size_ == kDepth) return nullptr;
        const bool constant = step.op == Op::kConstant;
        const size_t limit = constant ? expression.constants.size() : count;
        if (step.operand >= limit) return nullptr;
        at_[size_++] = (constant ? expression.constants.data() : columns) + step.operand;
      } else {
        if (size_ < static_cast<size_t>(arity)) return nullptr;
        size_ -= static_cast<size_t>(arity);
        results_[size_] = arity == 1 ? Compute(step.op, *at_[size_])
                                     : Compute(step.op, *at_[size_], *at_[size_ + 1]);
        at_[size_] = &results_[size_];
        ++size_;
      }
    }
    return size_ == 1 ? at_[0] : nullptr;
  }
  Value Take(const Value* value) {
    if (value == nullptr) return Null();
    if (value == &results_[0]) return std::move(results_[0]);
    return *value;
  }

 private:
  const Value* at_[kDepth];
  Value results_[kDepth];
  size_t size_ = 0;
};

// Nearly every expression is shallow, and setting up 64 results costs more than computing one.
constexpr size_t kShallow = 4;

}  // namespace

Value Evaluate(const Expression& expression, const Value* columns, size_t count) {
  if (expression.code.size() == 1) {
    const Instruction& only = expression.code[0];
    if (only.op == Op::kColumn && only.operand < count) return columns[only.operand];
    if (only.op == Op::kConstant && only.operand < expression.constants.size())
      return expression.constants[only.operand];
    return Null();
  }
  if (expression.code.size() < 2 * kShallow) {  // half of the steps, and one, are operands
    Stack<kShallow> stack;
    return stack.Take(stack.Run(expression, columns, count));
  }
  Stack<kMaxExpressionDepth> stack;
  return stack.Take(stack.Run(expression, columns, count));
}

bool IsTrue(const Expression& expression, const Value* columns, size_t count) {
  return True(Evaluate(expression, columns, count));
}

namespace {

template <typename T>
bool Ordered(Op op, const T& a, const T& b) {
  switch (op) {
    case Op::kEqual:
      return a == b;
    case Op::kNotEqual:
      return !(a == b);
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

bool Compares(Op op) { return op >= Op::kEqual && op <= Op::kGreaterEqual; }

// What takes texts as they are; all else is computed of values, which then are no texts, or seldom.
Cell ComputeCell(Op op, const Cell& a, const Cell& b) {
  using Type = Cell::Type;
  if (op == Op::kAnd) return Cell::Of(a.IsTrue() && b.IsTrue());
  if (op == Op::kOr) return Cell::Of(a.IsTrue() || b.IsTrue());
  if (Compares(op) && a.type == Type::kInteger && b.type == Type::kInteger)
    return Cell::Of(Ordered(op, a.integer, b.integer));
  if (a.type == Type::kText && b.type == Type::kText) {
    if (Compares(op)) return Cell::Of(Ordered(op, a.view(), b.view()));
    if (op == Op::kContains) return Cell::Of(a.view().find(b.view()) != std::string_view::npos);
    if (op == Op::kStartsWith) return Cell::Of(a.view().substr(0, b.size) == b.view());
    if (op == Op::kEndsWith)
      return Cell::Of(a.size >= b.size && a.view().substr(a.size - b.size) == b.view());
  }
  return Cell::Of(Compute(op, a.ToValue(), b.ToValue()));
}

Cell ComputeCell(Op op, const Cell& a, MadeTexts& made) {
  if (op == Op::kNot) return Cell::Of(!a.IsTrue());
  if (op == Op::kHas) return Cell::Of(!a.null());
  if (op == Op::kLength && a.type == Cell::Type::kText)
    return Cell::Of(static_cast<int64_t>(a.size));
  Value value = Compute(op, a.ToValue());
  if (auto* text = std::get_if<std::string>(&value)) return Cell::Of(made.Keep(std::move(*text)));
  return Cell::Of(value);
}

}  // namespace

[[gnu::hot]] Cell Evaluate(const Expression& expression, const Cell* columns, size_t count,
                           MadeTexts& made) {
  Cell stack[kMaxExpressionDepth];
  size_t size = 0;
  for (const Instruction& step : expression.code) {
    const auto arity = static_cast<size_t>(Arity(step.op));
    if (size < arity || (arity == 0 && size == kMaxExpressionDepth)) return Cell::Null();
    if (arity == 0) {
      const bool constant = step.op == Op::kConstant;
      if (step.operand >= (constant ? expression.constants.size() : count)) return Cell::Null();
      stack[size++] =
          constant ? Cell::Of(expression.constants[step.operand]) : columns[step.operand];
    } else {
      size -= arity - 1;
      Cell& result = stack[size - 1];
      result = arity == 1 ? ComputeCell(step.op, result, made)
                          : ComputeCell(step.op, result, stack[size]);
    }
  }
  return size == 1 ? stack[0] : Cell::Null();
}

bool Valid(const Expression& expression, size_t columns) {
  size_t depth = 0;
  for (const Instruction& step : expression.code) {
    if (step.op > Op::kSize) return false;
    if (step.op == Op::kColumn && step.operand >= columns) return false;
    if (step.op == Op::kConstant && step.operand >= expression.constants.size()) return false;
    const auto arity = static_cast<size_t>(Arity(step.op));
    if (depth < arity) return false;
    depth += 1 - arity;
    if (depth > kMaxExpressionDepth) return false;
  }
  return depth == 1;
}

Expression Column(uint32_t column) { return {{{Op::kColumn, column}}, {}}; }

Expression Constant(Value value) {
  Expression expression;
  expression.code.push_back({Op::kConstant, 0});
  expression.constants.push_back(std::move(value));
  return expression;
}

}  // namespace wf::advice
