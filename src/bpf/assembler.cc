#include "bpf/assembler.h"

#include <utility>

#include "base/check.h"

namespace wf::bpf {
namespace {

uint8_t N(BpfReg reg) { return static_cast<uint8_t>(reg); }

}  // namespace

void BpfAssembler::Emit(uint8_t code, uint8_t to, uint8_t from, int16_t offset, int32_t constant) {
  bpf_insn insn{};
  insn.code = code;
  insn.dst_reg = to & 15;
  insn.src_reg = from & 15;
  insn.off = offset;
  insn.imm = constant;
  program_.push_back(insn);
}

// 64-bit constants take two instructions; `meaning` tells the kernel what the constant is.
void BpfAssembler::EmitWide(BpfReg to, uint8_t meaning, uint32_t low, uint32_t high) {
  Emit(BPF_LD | BPF_DW | BPF_IMM, N(to), meaning, 0, static_cast<int32_t>(low));
  Emit(0, 0, 0, 0, static_cast<int32_t>(high));
}

BpfAssembler::Label BpfAssembler::NewLabel() {
  bound_.push_back(-1);
  return {bound_.size() - 1};
}
void BpfAssembler::Bind(Label label) {
  WF_CHECK(bound_[label.index] < 0);
  bound_[label.index] = static_cast<int64_t>(program_.size());
}

void BpfAssembler::Move(BpfReg to, BpfReg from) {
  Emit(BPF_ALU64 | BPF_MOV | BPF_X, N(to), N(from), 0, 0);
}
void BpfAssembler::Move(BpfReg to, int32_t constant) {
  Emit(BPF_ALU64 | BPF_MOV | BPF_K, N(to), 0, 0, constant);
}
void BpfAssembler::Constant(BpfReg to, uint64_t constant) {
  EmitWide(to, 0, static_cast<uint32_t>(constant), static_cast<uint32_t>(constant >> 32));
}
void BpfAssembler::Add(BpfReg to, int32_t constant) {
  Emit(BPF_ALU64 | BPF_ADD | BPF_K, N(to), 0, 0, constant);
}
void BpfAssembler::Subtract(BpfReg to, BpfReg what) {
  Emit(BPF_ALU64 | BPF_SUB | BPF_X, N(to), N(what), 0, 0);
}
void BpfAssembler::Math(BpfMath what, BpfReg to, BpfReg by) {
  Emit(BPF_ALU64 | BPF_X | static_cast<uint8_t>(what), N(to), N(by), 0, 0);
}
void BpfAssembler::Math(BpfMath what, BpfReg to, int32_t by) {
  Emit(BPF_ALU64 | BPF_K | static_cast<uint8_t>(what), N(to), 0, 0, by);
}
void BpfAssembler::Negate(BpfReg to) { Emit(BPF_ALU64 | BPF_NEG, N(to), 0, 0, 0); }
void BpfAssembler::BigEndian(BpfReg to) { Emit(BPF_ALU | BPF_END | BPF_TO_BE, N(to), 0, 0, 64); }
void BpfAssembler::Load(BpfWidth width, BpfReg to, BpfReg base, int16_t offset) {
  Emit(BPF_LDX | BPF_MEM | static_cast<uint8_t>(width), N(to), N(base), offset, 0);
}
void BpfAssembler::Store(BpfWidth width, BpfReg base, int16_t offset, BpfReg from) {
  Emit(BPF_STX | BPF_MEM | static_cast<uint8_t>(width), N(base), N(from), offset, 0);
}
void BpfAssembler::Store(BpfWidth width, BpfReg base, int16_t offset, int32_t constant) {
  Emit(BPF_ST | BPF_MEM | static_cast<uint8_t>(width), N(base), 0, offset, constant);
}
void BpfAssembler::AtomicAdd(BpfReg base, int16_t offset, BpfReg what) {
  Emit(BPF_STX | BPF_ATOMIC | BPF_DW, N(base), N(what), offset, BPF_ADD);
}
void BpfAssembler::CompareExchange(BpfReg base, int16_t offset, BpfReg what) {
  Emit(BPF_STX | BPF_ATOMIC | BPF_DW, N(base), N(what), offset, BPF_CMPXCHG);
}
void BpfAssembler::Exchange(BpfReg base, int16_t offset, BpfReg what) {
  Emit(BPF_STX | BPF_ATOMIC | BPF_DW, N(base), N(what), offset, BPF_XCHG);
}
void BpfAssembler::Map(BpfReg to, int map_fd) {
  EmitWide(to, BPF_PSEUDO_MAP_FD, static_cast<uint32_t>(map_fd), 0);
}
void BpfAssembler::MapValue(BpfReg to, int map_fd, uint32_t offset) {
  EmitWide(to, BPF_PSEUDO_MAP_VALUE, static_cast<uint32_t>(map_fd), offset);
}
void BpfAssembler::Call(uint32_t helper) {
  Emit(BPF_JMP | BPF_CALL, 0, 0, 0, static_cast<int32_t>(helper));
}
void BpfAssembler::Jump(Label to) {
  fixups_.push_back({program_.size(), to.index});
  Emit(BPF_JMP | BPF_JA, 0, 0, 0, 0);
}
void BpfAssembler::JumpIf(BpfReg left, BpfCondition condition, int32_t right, Label to) {
  fixups_.push_back({program_.size(), to.index});
  Emit(BPF_JMP | BPF_K | static_cast<uint8_t>(condition), N(left), 0, 0, right);
}
void BpfAssembler::JumpIf(BpfReg left, BpfCondition condition, BpfReg right, Label to) {
  fixups_.push_back({program_.size(), to.index});
  Emit(BPF_JMP | BPF_X | static_cast<uint8_t>(condition), N(left), N(right), 0, 0);
}
void BpfAssembler::Return(int32_t value) {
  Move(BpfReg::r0, value);
  Emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

void BpfAssembler::Append(const std::vector<bpf_insn>& program) {
  // Jumps are relative: they stay right.
  program_.insert(program_.end(), program.begin(), program.end());
}

std::vector<bpf_insn> BpfAssembler::Finish() {
  for (const Fixup& fixup : fixups_) {
    WF_CHECK(bound_[fixup.label] >= 0);
    const int64_t distance = bound_[fixup.label] - static_cast<int64_t>(fixup.instruction) - 1;
    WF_CHECK(distance >= INT16_MIN && distance <= INT16_MAX);
    program_[fixup.instruction].off = static_cast<int16_t>(distance);
  }
  return std::move(program_);
}

}  // namespace wf::bpf
