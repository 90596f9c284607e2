#include "weaver/observe_code.h"

#include <algorithm>
#include <cstddef>

#include "weaver/event_program.h"
#include "weaver/program_frame.h"

namespace wf::weaver {
namespace {

using R = bpf::BpfReg;
using W = bpf::BpfWidth;
using C = bpf::BpfCondition;
using M = bpf::BpfMath;

// Where pt_regs of x86-64 has them.
int16_t InRegisters(Register reg) {
  switch (reg) {
    case Register::kR15:
      return 0;
    case Register::kR14:
      return 8;
    case Register::kR13:
      return 16;
    case Register::kR12:
      return 24;
    case Register::kRbp:
      return 32;
    case Register::kRbx:
      return 40;
    case Register::kR11:
      return 48;
    case Register::kR10:
      return 56;
    case Register::kR9:
      return 64;
    case Register::kR8:
      return 72;
    case Register::kRax:
      return 80;
    case Register::kRcx:
      return 88;
    case Register::kRdx:
      return 96;
    case Register::kRsi:
      return 104;
    case Register::kRdi:
      return 112;
    case Register::kIp:
      return 128;
    case Register::kRsp:
      return 152;
  }
  return 0;
}

constexpr int16_t InCall(size_t in_record) {
  return static_cast<int16_t>(in_record - offsetof(RecordHeader, entered));
}

}  // namespace

Operand VariableOperand(const RecordLayout& layout, std::string_view name) {
  Operand operand;
  for (size_t i = 0; i < layout.variables.size(); ++i) {
    const VariableSlot& slot = layout.variables[i];
    if (slot.name != name) continue;
    operand.at = slot.offset;
    if (slot.maybe_null) operand.null_bit = static_cast<int>(i);
    switch (slot.form) {
      case SlotForm::kInteger:
        operand.type = Operand::Type::kInteger;
        operand.narrow = slot.narrow;
        break;
      case SlotForm::kBool:
        operand.type = Operand::Type::kBool;
        break;
      case SlotForm::kString:
        operand.type = Operand::Type::kString;
        break;
      case SlotForm::kDouble:
      case SlotForm::kFloat:
        operand.type = Operand::Type::kOpaque;
        break;
      case SlotForm::kText:
        operand = {};
        operand.type = Operand::Type::kString;
        operand.constant = true;
        operand.text = slot.text;
        break;
      case SlotForm::kNull:
        operand = {};
        break;
    }
    return operand;
  }
  return operand;
}

bool ObserveCode::FromEntry(size_t variable) const {
  const ValueForm form = (*spec_.values)[spec_.layout->variables[variable].export_index].form;
  return form == ValueForm::kAtEntry || form == ValueForm::kElapsed;
}

void ObserveCode::SetNull(size_t variable) {
  a_.Load(W::k8, R::r1, kRecord, offsetof(RecordHeader, nulls));
  a_.Constant(R::r2, uint64_t{1} << variable);
  a_.Math(M::kOr, R::r1, R::r2);
  a_.Store(W::k8, kRecord, offsetof(RecordHeader, nulls), R::r1);
}

bool ObserveCode::Follow(const Recipe& recipe, bpf::BpfAssembler::Label otherwise) {
  bool fails = false;
  for (const ReadStep& step : recipe) {
    switch (step.op) {
      case ReadOp::kRegister:
        a_.Load(W::k8, R::r8, kRegisters, InRegisters(step.reg));
        break;
      case ReadOp::kConstant:
        a_.Constant(R::r8, static_cast<uint64_t>(step.operand));
        break;
      case ReadOp::kAdd:
        a_.Constant(R::r1, static_cast<uint64_t>(step.operand));
        a_.Math(M::kAdd, R::r8, R::r1);
        break;
      case ReadOp::kLoad:
        a_.Store(W::k8, R::r10, kReadAt, 0);
        frame_.Address(R::r1, kReadAt);
        a_.Move(R::r2, step.width);
        a_.Move(R::r3, R::r8);
        a_.Call(BPF_FUNC_probe_read_user);
        a_.JumpIf(R::r0, C::kNotEqual, 0, otherwise);
        a_.Load(W::k8, R::r8, R::r10, kReadAt);
        fails = true;
        break;
      case ReadOp::kShiftRight:
        a_.Math(M::kShiftRight, R::r8, static_cast<int32_t>(step.operand));
        break;
      case ReadOp::kZeroExtend:
      case ReadOp::kSignExtend:
        if (step.width >= 64 || step.width == 0) break;
        a_.Math(M::kShiftLeft, R::r8, 64 - step.width);
        a_.Math(step.op == ReadOp::kSignExtend ? M::kShiftRightSigned : M::kShiftRight, R::r8,
                64 - step.width);
        break;
    }
  }
  return fails;
}

void ObserveCode::ReadValues() {
  for (size_t i = 0; i < spec_.layout->variables.size(); ++i) {
    const VariableSlot& slot = spec_.layout->variables[i];
    const ValueRead& read = (*spec_.values)[slot.export_index];
    switch (read.form) {
      case ValueForm::kInteger:
      case ValueForm::kBool:
      case ValueForm::kDouble:
      case ValueForm::kFloat:
        ReadNumber(i, read);
        break;
      case ValueForm::kCString:
        ReadCString(i, read);
        break;
      case ValueForm::kBytes:
        if (read.until_zero) {
          ReadCString(i, read);
        } else {
          ReadBytes(i, read);
        }
        break;
      case ValueForm::kElapsed:
      case ValueForm::kAtEntry:
        if (spec_.calls == nullptr) SetNull(i);
        break;
      case ValueForm::kUnknown:
        SetNull(i);
        break;
      case ValueForm::kText:
        break;
    }
  }
}

void ObserveCode::ReadNumber(size_t variable, const ValueRead& read) {
  const int16_t at = spec_.layout->variables[variable].offset;
  const auto unread = a_.NewLabel(), done = a_.NewLabel();
  const bool fails = Follow(read.value, unread);
  if (read.form == ValueForm::kBool) {
    const auto zero = a_.NewLabel();
    a_.JumpIf(R::r8, C::kEqual, 0, zero);
    a_.Move(R::r8, 1);
    a_.Bind(zero);
  }
  a_.Store(W::k8, kRecord, at, R::r8);
  if (!fails) return;
  a_.Jump(done);
  a_.Bind(unread);
  SetNull(variable);
  frame_.Count(Counter::kUnread);
  a_.Bind(done);
}

void ObserveCode::ReadCString(size_t variable, const ValueRead& read) {
  const int16_t at = spec_.layout->variables[variable].offset;
  const auto bytes = static_cast<int32_t>(spec_.layout->string_bytes);
  const auto unread = a_.NewLabel(), null = a_.NewLabel(), done = a_.NewLabel(),
             whole = a_.NewLabel(), cut = a_.NewLabel();
  Follow(read.value, unread);
  a_.JumpIf(R::r8, C::kEqual, 0, null);
  // Two more than are kept: the zero that ends it, and one to see that it goes on.
  int32_t most = bytes + 2;
  if (read.max_length != 0)
    most = static_cast<int32_t>(std::min<int64_t>(most, int64_t{read.max_length} + 1));
  a_.Move(R::r1, kRecord);
  a_.Add(R::r1, at + 8);
  a_.Move(R::r2, most);
  a_.Move(R::r3, R::r8);
  a_.Call(BPF_FUNC_probe_read_user_str);
  a_.JumpIf(R::r0, C::kLessEqualSigned, 0, unread);
  a_.Add(R::r0, -1);
  a_.JumpIf(R::r0, C::kGreater, bytes, cut);
  a_.Jump(whole);
  a_.Bind(cut);
  frame_.Count(Counter::kCutStrings);
  a_.Move(R::r0, bytes);
  a_.Bind(whole);
  a_.Store(W::k8, kRecord, at, R::r0);
  a_.Store(W::k8, kRecord, static_cast<int16_t>(at + 8 + bytes), 0);
  a_.Jump(done);
  a_.Bind(unread);
  frame_.Count(Counter::kUnread);
  a_.Bind(null);
  SetNull(variable);
  a_.Bind(done);
}

void ObserveCode::ReadBytes(size_t variable, const ValueRead& read) {
  const int16_t at = spec_.layout->variables[variable].offset;
  const auto bytes = static_cast<int32_t>(spec_.layout->string_bytes);
  const auto unread = a_.NewLabel(), done = a_.NewLabel(), empty = a_.NewLabel(),
             whole = a_.NewLabel();
  Follow(read.length, unread);
  a_.Move(R::r9, R::r8);
  Follow(read.value, unread);
  if (read.max_length != 0) {
    const auto within = a_.NewLabel();
    a_.JumpIf(R::r9, C::kLessEqual, static_cast<int32_t>(read.max_length), within);
    a_.Move(R::r9, static_cast<int32_t>(read.max_length));
    a_.Bind(within);
  }
  a_.JumpIf(R::r9, C::kLessEqual, bytes, whole);
  frame_.Count(Counter::kCutStrings);
  a_.Move(R::r9, bytes);
  a_.Bind(whole);
  a_.Store(W::k8, kRecord, at, R::r9);
  a_.JumpIf(R::r9, C::kEqual, 0, empty);
  a_.Move(R::r1, kRecord);
  a_.Add(R::r1, at + 8);
  a_.Move(R::r2, R::r9);
  a_.Move(R::r3, R::r8);
  a_.Call(BPF_FUNC_probe_read_user);
  a_.JumpIf(R::r0, C::kNotEqual, 0, unread);
  a_.Bind(empty);
  a_.Jump(done);
  a_.Bind(unread);
  a_.Store(W::k8, kRecord, at, 0);
  frame_.Count(Counter::kUnread);
  SetNull(variable);
  a_.Bind(done);
}

void ObserveCode::TakeFromEntry(R call) {
  uint64_t kept = 0;
  for (size_t i = 0; i < spec_.layout->variables.size(); ++i) {
    const VariableSlot& slot = spec_.layout->variables[i];
    const ValueForm form = (*spec_.values)[slot.export_index].form;
    if (form == ValueForm::kElapsed) {
      a_.Call(BPF_FUNC_ktime_get_ns);
      a_.Load(W::k8, R::r1, call, InCall(offsetof(RecordHeader, entered)));
      a_.Subtract(R::r0, R::r1);
      a_.Store(W::k8, kRecord, slot.offset, R::r0);
    } else if (form == ValueForm::kAtEntry) {
      kept |= uint64_t{1} << i;
      if (slot.form == SlotForm::kNull || slot.form == SlotForm::kText) continue;
      const size_t bytes = slot.form == SlotForm::kString ? 8 + spec_.layout->string_bytes : 8;
      for (size_t at = 0; at < bytes; at += 8) {
        const auto offset = static_cast<int16_t>(slot.offset + static_cast<int16_t>(at));
        a_.Load(W::k8, R::r1, call, InCall(static_cast<size_t>(offset)));
        a_.Store(W::k8, kRecord, offset, R::r1);
      }
    }
  }
  if (kept == 0) return;
  a_.Load(W::k8, R::r1, call, InCall(offsetof(RecordHeader, nulls)));
  a_.Constant(R::r2, kept);
  a_.Math(M::kAnd, R::r1, R::r2);
  a_.Store(W::k8, kRecord, offsetof(RecordHeader, nulls), R::r1);
}

void ObserveCode::NothingFromEntry() {
  bool wanted = false;
  for (size_t i = 0; i < spec_.layout->variables.size(); ++i) {
    if (!FromEntry(i)) continue;
    SetNull(i);
    wanted = true;
  }
  if (wanted) frame_.Count(Counter::kUnpaired);
}

}  // namespace wf::weaver
