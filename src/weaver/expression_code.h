// Expressions of advice as eBPF. Only what the kernel can do exactly is compiled: integers, booleans,
// strings. Other expressions (doubles, divisions, Lower, …) are rejected when the program is built. If the
// result would be inexact for one event (an overflow), the code jumps to `inexact`, and user space processes
// that event.
//
// Thread safety: none. Lives no longer than the assembler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advice/expression.h"
#include "bpf/assembler.h"

namespace wf::weaver {

// r6: the probed thread's registers; r7: the record; r8 and r9: free between steps.
inline constexpr bpf::BpfReg kRegisters = bpf::BpfReg::r6, kRecord = bpf::BpfReg::r7;

struct Operand {
  enum class Type : uint8_t {
    kNull,
    kBool,
    kInteger,
    kString,
    kOpaque,       // the kernel only passes it on: a double
    kProcessName,  // user space looks it up by the process
    kHost,
  };
  Type type = Type::kNull;
  int16_t at = 0;        // in the record: eight bytes, or a string's slot
  bool narrow = false;   // kInteger: fits 32 bits with its sign
  int null_bit = -1;     // of RecordHeader::nulls; -1: none
  int16_t null_at = -1;  // eight bytes that are nonzero if it is null; -1: none
  bool constant = false;
  int64_t number = 0;  // constant
  std::string text;    // constant

  bool nullable() const { return null_bit >= 0 || null_at >= 0; }
};

class ExpressionCode {
 public:
  // `slots` is free memory in the record: bytes_for(expression) of it.
  ExpressionCode(bpf::BpfAssembler& a, int16_t slots, uint32_t string_bytes,
                 bpf::BpfAssembler::Label inexact)
      : a_(a), slots_(slots), string_bytes_(string_bytes), inexact_(inexact) {}

  // The value is valid until the next call. Empty: the kernel cannot compute it, and the assembled code is to
  // be dropped.
  std::optional<Operand> Compile(const advice::Expression& expression,
                                 const std::vector<Operand>& columns);

  static size_t BytesFor(const advice::Expression& expression);

  void JumpIfNull(const Operand& value, bpf::BpfAssembler::Label to);
  void LoadNumber(bpf::BpfReg to, const Operand& value);
  // Jumps unless the value is true; a value that is not a boolean counts as false.
  void JumpUnlessTrue(const Operand& value, bpf::BpfAssembler::Label to);

 private:
  Operand Slot(size_t depth, Operand::Type type);
  std::optional<Operand> Unary(advice::Op op, const Operand& a, size_t depth);
  std::optional<Operand> Binary(advice::Op op, const Operand& a, const Operand& b, size_t depth);
  std::optional<Operand> Arithmetic(advice::Op op, const Operand& a, const Operand& b,
                                    size_t depth);
  std::optional<Operand> Bucket(const Operand& a, const Operand& b, size_t depth);
  Operand Comparison(advice::Op op, const Operand& a, const Operand& b, size_t depth);
  Operand Logic(advice::Op op, const Operand& a, const Operand& b, size_t depth);
  std::optional<Operand> StartsWith(const Operand& a, const Operand& b, size_t depth);
  void CompareStrings(advice::Op op, const Operand& a, const Operand& b,
                      bpf::BpfAssembler::Label holds, bpf::BpfAssembler::Label fails);
  void LoadLength(bpf::BpfReg to, const Operand& text);
  void LoadWord(bpf::BpfReg to, const Operand& text, size_t word);
  void MayBeNull(Operand& slot, bpf::BpfAssembler::Label null, bpf::BpfAssembler::Label done);
  void Go(bpf::BpfAssembler::Label to);
  // Stores the truth value that the code jumped for, and continues.
  Operand Truth(size_t depth, bpf::BpfAssembler::Label holds, bpf::BpfAssembler::Label fails);

  bpf::BpfAssembler& a_;
  const int16_t slots_;
  const uint32_t string_bytes_;
  const bpf::BpfAssembler::Label inexact_;
};

}  // namespace wf::weaver
