// BpfAssembler: BPF programs written in C++, one call per instruction. Our programs have a few dozen
// instructions. Written this way they need no compiler for BPF, neither for building wherefore nor on the
// target machine, and values known at load time (a threshold, a process's namespace) are constants in them.
//
// Thread safety: none. Finish is called once.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wf::bpf {

// r0: results; r1–r5: arguments, overwritten by every call; r6–r9: kept; r10: the frame, which grows down
// from it.
enum class BpfReg : uint8_t { r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10 };
enum class BpfWidth : uint8_t { k1 = BPF_B, k2 = BPF_H, k4 = BPF_W, k8 = BPF_DW };
enum class BpfCondition : uint8_t {
  kEqual = BPF_JEQ,
  kNotEqual = BPF_JNE,
  kLess = BPF_JLT,  // unsigned
  kLessEqual = BPF_JLE,
  kGreater = BPF_JGT,
  kGreaterEqual = BPF_JGE,
  kLessSigned = BPF_JSLT,
  kLessEqualSigned = BPF_JSLE,
  kGreaterSigned = BPF_JSGT,
  kGreaterEqualSigned = BPF_JSGE,
  kAnyBitOf = BPF_JSET,
};
// 64 bits, wrapping. Divisions are unsigned.
enum class BpfMath : uint8_t {
  kAdd = BPF_ADD,
  kSubtract = BPF_SUB,
  kMultiply = BPF_MUL,
  kDivide = BPF_DIV,
  kRemainder = BPF_MOD,
  kAnd = BPF_AND,
  kOr = BPF_OR,
  kXor = BPF_XOR,
  kShiftLeft = BPF_LSH,
  kShiftRight = BPF_RSH,
  kShiftRightSigned = BPF_ARSH,
};

class BpfAssembler {
 public:
  struct Label {
    size_t index;
  };
  Label NewLabel();
  void Bind(Label label);  // here

  void Move(BpfReg to, BpfReg from);
  void Move(BpfReg to, int32_t constant);
  void Constant(BpfReg to, uint64_t constant);
  void Add(BpfReg to, int32_t constant);
  void Subtract(BpfReg to, BpfReg what);
  void Math(BpfMath what, BpfReg to, BpfReg by);
  void Math(BpfMath what, BpfReg to, int32_t by);
  void Negate(BpfReg to);
  // The eight bytes in the order of memory, so that they compare as strings do.
  void BigEndian(BpfReg to);
  void Load(BpfWidth width, BpfReg to, BpfReg base, int16_t offset);
  void Store(BpfWidth width, BpfReg base, int16_t offset, BpfReg from);
  void Store(BpfWidth width, BpfReg base, int16_t offset, int32_t constant);
  void AtomicAdd(BpfReg base, int16_t offset, BpfReg what);  // 8 bytes
  // If the eight bytes there equal r0, they become `what`; r0 receives the old value.
  void CompareExchange(BpfReg base, int16_t offset, BpfReg what);
  // The eight bytes become `what`, which receives the old value.
  void Exchange(BpfReg base, int16_t offset, BpfReg what);
  void Map(BpfReg to, int map_fd);
  // The address of a byte in the first value of an array.
  void MapValue(BpfReg to, int map_fd, uint32_t offset);
  void Call(uint32_t helper);  // BPF_FUNC_…
  void Jump(Label to);
  void JumpIf(BpfReg left, BpfCondition condition, int32_t right, Label to);
  void JumpIf(BpfReg left, BpfCondition condition, BpfReg right, Label to);
  void Return(int32_t value);
  // Appends a complete program that another assembler made.
  void Append(const std::vector<bpf_insn>& program);

  // The program. Every label that is a jump target must be bound by now.
  std::vector<bpf_insn> Finish();

 private:
  void Emit(uint8_t code, uint8_t to, uint8_t from, int16_t offset, int32_t constant);
  void EmitWide(BpfReg to, uint8_t meaning, uint32_t low, uint32_t high);

  struct Fixup {
    size_t instruction;
    size_t label;
  };
  std::vector<bpf_insn> program_;
  std::vector<int64_t> bound_;  // per label: the instruction it is before; -1: not bound yet
  std::vector<Fixup> fixups_;
};

}  // namespace wf::bpf
