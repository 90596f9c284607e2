#include "weaver/expression_code.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "weaver/event_record.h"

namespace wf::weaver {
namespace {

using advice::Op;
using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;
using M = bpf::BpfMath;
using T = Operand::Type;

constexpr int16_t kSlotBytes = 16;  // the value, and whether it is null

bool Carried(T type) { return type == T::kOpaque || type == T::kProcessName || type == T::kHost; }

// The eight bytes of a constant that stand at `word`, as they lie in memory; zeros behind its end.
uint64_t WordOf(std::string_view text, size_t word) {
  uint64_t value = 0;
  if (word * 8 < text.size())
    std::memcpy(&value, text.data() + word * 8, std::min<size_t>(8, text.size() - word * 8));
  return value;
}

Operand FalseConstant() {
  Operand value;
  value.type = T::kBool;
  value.constant = true;
  return value;
}

std::optional<Operand> ConstantOf(const advice::Value& value) {
  Operand operand;
  operand.constant = true;
  if (value.null()) return operand;
  if (const bool* truth = std::get_if<bool>(&value)) {
    operand.type = T::kBool;
    operand.number = *truth ? 1 : 0;
    return operand;
  }
  if (const int64_t* number = std::get_if<int64_t>(&value)) {
    operand.type = T::kInteger;
    operand.number = *number;
    operand.narrow = *number >= INT32_MIN && *number <= INT32_MAX;
    return operand;
  }
  if (const std::string* text = std::get_if<std::string>(&value)) {
    operand.type = T::kString;
    operand.text = *text;
    return operand;
  }
  return std::nullopt;
}

C Signed(Op op) {
  switch (op) {
    case Op::kLess:
      return C::kLessSigned;
    case Op::kLessEqual:
      return C::kLessEqualSigned;
    case Op::kGreater:
      return C::kGreaterSigned;
    case Op::kGreaterEqual:
      return C::kGreaterEqualSigned;
    case Op::kNotEqual:
      return C::kNotEqual;
    default:
      return C::kEqual;
  }
}

}  // namespace

size_t ExpressionCode::BytesFor(const advice::Expression& expression) {
  return (expression.code.size() + 1) / 2 * kSlotBytes + kSlotBytes;
}

Operand ExpressionCode::Slot(size_t depth, T type) {
  Operand slot;
  slot.type = type;
  slot.at = static_cast<int16_t>(slots_ + static_cast<int16_t>(depth) * kSlotBytes);
  return slot;
}

std::optional<Operand> ExpressionCode::Compile(const advice::Expression& expression,
                                               const std::vector<Operand>& columns) {
  std::vector<Operand> stack;
  for (const advice::Instruction& instruction : expression.code) {
    if (instruction.op == Op::kConstant) {
      const auto constant = ConstantOf(expression.constants[instruction.operand]);
      if (!constant) return std::nullopt;
      stack.push_back(*constant);
      continue;
    }
    if (instruction.op == Op::kColumn) {
      stack.push_back(columns[instruction.operand]);
      continue;
    }
    const bool unary = instruction.op == Op::kNegate || instruction.op == Op::kNot ||
                       instruction.op == Op::kLower || instruction.op == Op::kUpper ||
                       instruction.op == Op::kLength || instruction.op == Op::kHas;
    const Operand right = std::move(stack.back());
    stack.pop_back();
    if (Carried(right.type)) return std::nullopt;
    std::optional<Operand> value;
    if (unary) {
      value = Unary(instruction.op, right, stack.size());
    } else {
      const Operand left = std::move(stack.back());
      stack.pop_back();
      if (Carried(left.type)) return std::nullopt;
      value = Binary(instruction.op, left, right, stack.size());
    }
    if (!value) return std::nullopt;
    stack.push_back(std::move(*value));
  }
  return std::move(stack.back());
}

void ExpressionCode::JumpIfNull(const Operand& value, bpf::BpfAssembler::Label to) {
  if (value.null_bit >= 0) {
    a_.Load(W::k8, R::r1, kRecord, offsetof(RecordHeader, nulls));
    a_.Constant(R::r2, uint64_t{1} << value.null_bit);
    a_.JumpIf(R::r1, C::kAnyBitOf, R::r2, to);
  } else if (value.null_at >= 0) {
    a_.Load(W::k8, R::r1, kRecord, value.null_at);
    a_.JumpIf(R::r1, C::kNotEqual, 0, to);
  }
}

void ExpressionCode::LoadNumber(R to, const Operand& value) {
  if (value.constant) {
    a_.Constant(to, static_cast<uint64_t>(value.number));
  } else {
    a_.Load(W::k8, to, kRecord, value.at);
  }
}

void ExpressionCode::JumpUnlessTrue(const Operand& value, bpf::BpfAssembler::Label to) {
  if (value.type != T::kBool || (value.constant && value.number == 0)) {
    Go(to);
    return;
  }
  if (value.constant) return;
  JumpIfNull(value, to);
  LoadNumber(R::r1, value);
  a_.JumpIf(R::r1, C::kEqual, 0, to);
}

Operand ExpressionCode::Truth(size_t depth, bpf::BpfAssembler::Label holds,
                              bpf::BpfAssembler::Label fails) {
  const auto done = a_.NewLabel();
  const Operand slot = Slot(depth, T::kBool);
  a_.Bind(holds);
  a_.Store(W::k8, kRecord, slot.at, 1);
  Go(done);
  a_.Bind(fails);
  a_.Store(W::k8, kRecord, slot.at, 0);
  a_.Bind(done);
  return slot;
}

std::optional<Operand> ExpressionCode::Unary(Op op, const Operand& a, size_t depth) {
  switch (op) {
    case Op::kNegate: {
      Operand zero;
      zero.type = T::kInteger;
      zero.constant = true;
      return Arithmetic(Op::kSubtract, zero, a, depth);
    }
    case Op::kNot: {
      const auto holds = a_.NewLabel(), fails = a_.NewLabel();
      JumpUnlessTrue(a, holds);
      Go(fails);
      return Truth(depth, holds, fails);
    }
    case Op::kHas: {
      if (a.type == T::kNull) return FalseConstant();
      const auto holds = a_.NewLabel(), fails = a_.NewLabel();
      JumpIfNull(a, fails);
      Go(holds);
      return Truth(depth, holds, fails);
    }
    case Op::kLength: {
      if (a.type != T::kString) return Operand{};
      Operand length = a;  // a slot begins with its length
      length.type = T::kInteger;
      length.narrow = true;
      length.number = static_cast<int64_t>(a.text.size());
      length.text.clear();
      return length;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Operand> ExpressionCode::Binary(Op op, const Operand& a, const Operand& b,
                                              size_t depth) {
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
      return Arithmetic(op, a, b, depth);
    case Op::kBucket:
      return Bucket(a, b, depth);
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
      return Comparison(op, a, b, depth);
    case Op::kAnd:
    case Op::kOr:
      return Logic(op, a, b, depth);
    case Op::kStartsWith:
      return StartsWith(a, b, depth);
    default:
      return std::nullopt;
  }
}

std::optional<Operand> ExpressionCode::Arithmetic(Op op, const Operand& a, const Operand& b,
                                                  size_t depth) {
  if (a.type != T::kInteger || b.type != T::kInteger) return Operand{};
  const auto null = a_.NewLabel(), done = a_.NewLabel();
  JumpIfNull(a, null);
  JumpIfNull(b, null);
  LoadNumber(R::r1, a);
  LoadNumber(R::r2, b);
  a_.Move(R::r3, R::r1);
  if (op == Op::kMultiply) {
    // Products of 32-bit numbers fit; others may, but that is dearer to find out than to let user space do it.
    for (const R factor : {R::r1, R::r2}) {
      a_.Move(R::r4, factor);
      a_.Math(M::kShiftLeft, R::r4, 32);
      a_.Math(M::kShiftRightSigned, R::r4, 32);
      a_.JumpIf(R::r4, C::kNotEqual, factor, inexact_);
    }
    a_.Math(M::kMultiply, R::r3, R::r2);
  } else {
    // It overflows if the result's sign differs from that of both summands (of a - b: from a's, which differs from b's).
    a_.Math(op == Op::kAdd ? M::kAdd : M::kSubtract, R::r3, R::r2);
    a_.Move(R::r4, R::r1);
    a_.Math(M::kXor, R::r4, R::r3);
    a_.Math(M::kXor, R::r2, op == Op::kAdd ? R::r3 : R::r1);
    a_.Math(M::kAnd, R::r4, R::r2);
    a_.JumpIf(R::r4, C::kLessSigned, 0, inexact_);
  }
  Operand slot = Slot(depth, T::kInteger);
  a_.Store(W::k8, kRecord, slot.at, R::r3);
  if (a.nullable() || b.nullable()) MayBeNull(slot, null, done);
  return slot;
}

std::optional<Operand> ExpressionCode::Bucket(const Operand& a, const Operand& b, size_t depth) {
  if (a.type != T::kInteger) return a.type == T::kNull ? std::optional(Operand{}) : std::nullopt;
  if (b.type != T::kInteger || !b.constant || b.number <= 0) return std::nullopt;
  const auto null = a_.NewLabel(), done = a_.NewLabel();
  JumpIfNull(a, null);
  LoadNumber(R::r1, a);
  a_.JumpIf(R::r1, C::kLessSigned, 0, inexact_);
  a_.Move(R::r3, R::r1);
  LoadNumber(R::r2, b);
  a_.Math(M::kRemainder, R::r3, R::r2);
  a_.Math(M::kSubtract, R::r1, R::r3);
  Operand slot = Slot(depth, T::kInteger);
  a_.Store(W::k8, kRecord, slot.at, R::r1);
  if (a.nullable()) MayBeNull(slot, null, done);
  return slot;
}

Operand ExpressionCode::Comparison(Op op, const Operand& a, const Operand& b, size_t depth) {
  if (a.type != b.type || a.type == T::kNull) return FalseConstant();
  if (a.type == T::kBool && op != Op::kEqual && op != Op::kNotEqual) return FalseConstant();
  const auto holds = a_.NewLabel(), fails = a_.NewLabel();
  JumpIfNull(a, fails);
  JumpIfNull(b, fails);
  if (a.type == T::kString) {
    CompareStrings(op, a, b, holds, fails);
  } else {
    LoadNumber(R::r1, a);
    LoadNumber(R::r2, b);
    a_.JumpIf(R::r1, Signed(op), R::r2, holds);
    Go(fails);
  }
  return Truth(depth, holds, fails);
}

Operand ExpressionCode::Logic(Op op, const Operand& a, const Operand& b, size_t depth) {
  const auto holds = a_.NewLabel(), fails = a_.NewLabel(), second = a_.NewLabel();
  if (op == Op::kAnd) {
    JumpUnlessTrue(a, fails);
  } else {
    JumpUnlessTrue(a, second);
    Go(holds);
  }
  a_.Bind(second);
  JumpUnlessTrue(b, fails);
  Go(holds);
  return Truth(depth, holds, fails);
}

std::optional<Operand> ExpressionCode::StartsWith(const Operand& a, const Operand& b,
                                                  size_t depth) {
  if (a.type != T::kString || b.type != T::kString) return Operand{};
  if (!b.constant || a.constant) return std::nullopt;
  const auto holds = a_.NewLabel(), fails = a_.NewLabel();
  const auto null = a_.NewLabel(), done = a_.NewLabel();
  JumpIfNull(a, null);
  LoadLength(R::r1, a);
  a_.JumpIf(R::r1, C::kLess, static_cast<int32_t>(std::min<size_t>(b.text.size(), INT32_MAX)),
            fails);
  for (size_t word = 0; word * 8 < b.text.size() && word * 8 < string_bytes_; ++word) {
    LoadWord(R::r1, a, word);
    const size_t bytes = std::min<size_t>(8, b.text.size() - word * 8);
    if (bytes < 8) {
      a_.Constant(R::r2, (uint64_t{1} << (bytes * 8)) - 1);
      a_.Math(M::kAnd, R::r1, R::r2);
    }
    LoadWord(R::r2, b, word);
    a_.JumpIf(R::r1, C::kNotEqual, R::r2, fails);
  }
  Go(holds);
  Operand slot = Truth(depth, holds, fails);
  if (a.nullable()) MayBeNull(slot, null, done);
  return slot;
}

// What was stored so far is a value; what jumps to `null` makes it null.
void ExpressionCode::MayBeNull(Operand& slot, bpf::BpfAssembler::Label null,
                               bpf::BpfAssembler::Label done) {
  slot.null_at = static_cast<int16_t>(slot.at + 8);
  a_.Store(W::k8, kRecord, slot.null_at, 0);
  Go(done);
  a_.Bind(null);
  a_.Store(W::k8, kRecord, slot.at, 0);
  a_.Store(W::k8, kRecord, slot.null_at, 1);
  a_.Bind(done);
}

// A jump that seems to depend on a value: the verifier rejects unreachable code, and constants decide which
// branches of an expression are dead. It then drops such branches itself.
void ExpressionCode::Go(bpf::BpfAssembler::Label to) {
  a_.Move(R::r1, 0);
  a_.JumpIf(R::r1, C::kEqual, 0, to);
}

void ExpressionCode::LoadLength(R to, const Operand& text) {
  if (text.constant) {
    a_.Constant(to, text.text.size());
  } else {
    a_.Load(W::k8, to, kRecord, text.at);
  }
}

void ExpressionCode::LoadWord(R to, const Operand& text, size_t word) {
  if (text.constant) {
    a_.Constant(to, WordOf(text.text, word));
  } else {
    a_.Load(W::k8, to, kRecord, static_cast<int16_t>(text.at + 8 + static_cast<int16_t>(word * 8)));
  }
}

void ExpressionCode::CompareStrings(Op op, const Operand& a, const Operand& b,
                                    bpf::BpfAssembler::Label holds,
                                    bpf::BpfAssembler::Label fails) {
  // Longer constants than any observed string differ from it within these words, or by their length.
  const size_t words = string_bytes_ / 8;
  if (op == Op::kEqual || op == Op::kNotEqual) {
    const auto differ = op == Op::kEqual ? fails : holds;
    LoadLength(R::r1, a);
    LoadLength(R::r2, b);
    a_.JumpIf(R::r1, C::kNotEqual, R::r2, differ);
    size_t needed = words;
    if (a.constant) needed = std::min(needed, (a.text.size() + 7) / 8);
    if (b.constant) needed = std::min(needed, (b.text.size() + 7) / 8);
    for (size_t word = 0; word < needed; ++word) {
      LoadWord(R::r1, a, word);
      LoadWord(R::r2, b, word);
      a_.JumpIf(R::r1, C::kNotEqual, R::r2, differ);
    }
    Go(op == Op::kEqual ? holds : fails);
    return;
  }
  const bool less = op == Op::kLess || op == Op::kLessEqual;
  for (size_t word = 0; word < words; ++word) {
    LoadWord(R::r1, a, word);
    LoadWord(R::r2, b, word);
    a_.BigEndian(R::r1);
    a_.BigEndian(R::r2);
    a_.JumpIf(R::r1, C::kLess, R::r2, less ? holds : fails);
    a_.JumpIf(R::r1, C::kGreater, R::r2, less ? fails : holds);
  }
  // Equal as far as zeros may stand for the end: then the shorter one is less.
  LoadLength(R::r1, a);
  LoadLength(R::r2, b);
  const C shorter = op == Op::kLess        ? C::kLess
                    : op == Op::kLessEqual ? C::kLessEqual
                    : op == Op::kGreater   ? C::kGreater
                                           : C::kGreaterEqual;
  a_.JumpIf(R::r1, shorter, R::r2, holds);
  Go(fails);
}

}  // namespace wf::weaver
