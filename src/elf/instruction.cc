#include "elf/instruction.h"

#include <Zydis/Zydis.h>

#include <array>

namespace wf::elf {
namespace {

std::optional<Register> ToRegister(ZydisRegister reg) {
  switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg)) {
    case ZYDIS_REGISTER_RAX:
      return Register::kRax;
    case ZYDIS_REGISTER_RDX:
      return Register::kRdx;
    case ZYDIS_REGISTER_RCX:
      return Register::kRcx;
    case ZYDIS_REGISTER_RBX:
      return Register::kRbx;
    case ZYDIS_REGISTER_RSI:
      return Register::kRsi;
    case ZYDIS_REGISTER_RDI:
      return Register::kRdi;
    case ZYDIS_REGISTER_RBP:
      return Register::kRbp;
    case ZYDIS_REGISTER_RSP:
      return Register::kRsp;
    case ZYDIS_REGISTER_R8:
      return Register::kR8;
    case ZYDIS_REGISTER_R9:
      return Register::kR9;
    case ZYDIS_REGISTER_R10:
      return Register::kR10;
    case ZYDIS_REGISTER_R11:
      return Register::kR11;
    case ZYDIS_REGISTER_R12:
      return Register::kR12;
    case ZYDIS_REGISTER_R13:
      return Register::kR13;
    case ZYDIS_REGISTER_R14:
      return Register::kR14;
    case ZYDIS_REGISTER_R15:
      return Register::kR15;
    default:
      return std::nullopt;
  }
}

const ZydisDecoder& Decoder() {
  static const ZydisDecoder kDecoder = [] {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return decoder;
  }();
  return kDecoder;
}

std::string Format(const ZydisDecodedInstruction& decoded, const ZydisDecodedOperand* operands,
                   uint64_t address) {
  static const ZydisFormatter kFormatter = [] {
    ZydisFormatter formatter;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    return formatter;
  }();
  std::array<char, 128> text{};
  if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&kFormatter, &decoded, operands,
                                                    decoded.operand_count_visible, text.data(),
                                                    text.size(), address, nullptr)))
    return ZydisMnemonicGetString(decoded.mnemonic);
  return text.data();
}

InstructionKind KindOf(const ZydisDecodedInstruction& decoded,
                       const ZydisDecodedOperand* operands) {
  const bool relative =
      decoded.operand_count_visible > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (decoded.meta.category) {
    case ZYDIS_CATEGORY_RET:
      return InstructionKind::kReturn;
    case ZYDIS_CATEGORY_COND_BR:
      return InstructionKind::kJumpIf;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return relative ? InstructionKind::kJump : InstructionKind::kIndirectJump;
    case ZYDIS_CATEGORY_CALL:
      return relative ? InstructionKind::kCall : InstructionKind::kIndirectCall;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
      return decoded.mnemonic == ZYDIS_MNEMONIC_NOP ? InstructionKind::kNop
                                                    : InstructionKind::kOther;
    default:
      break;
  }
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT3:
      return InstructionKind::kTrap;
    case ZYDIS_MNEMONIC_PUSH:
      return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? InstructionKind::kPush
                                                             : InstructionKind::kOther;
    default:
      return InstructionKind::kOther;
  }
}

void ReadOperands(const ZydisDecodedInstruction& decoded, const ZydisDecodedOperand* operands,
                  Instruction& out) {
  for (uint8_t i = 0; i < decoded.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) {
      if (const auto reg = ToRegister(operand.reg.value))
        out.writes |= uint32_t{1} << static_cast<int>(*reg);
    }
  }
  if (decoded.operand_count_visible == 0) return;
  const ZydisDecodedOperand& first = operands[0];
  ZyanU64 absolute = 0;
  const bool branch =
      out.kind == InstructionKind::kIndirectJump || out.kind == InstructionKind::kIndirectCall;
  if (first.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && first.imm.is_relative != 0 &&
      ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded, &first, out.address, &absolute)))
    out.target = absolute;
  if (branch && first.type == ZYDIS_OPERAND_TYPE_REGISTER)
    out.through = ToRegister(first.reg.value);
  if (branch && first.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    out.indexed = first.mem.index != ZYDIS_REGISTER_NONE;
    if (first.mem.base == ZYDIS_REGISTER_RIP &&
        ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded, &first, out.address, &absolute)))
      out.slot = absolute;
  }
  out.adds = decoded.mnemonic == ZYDIS_MNEMONIC_ADD;
  if (decoded.mnemonic == ZYDIS_MNEMONIC_MOV && decoded.operand_count_visible == 2 &&
      first.type == ZYDIS_OPERAND_TYPE_REGISTER && operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
      operands[1].mem.index == ZYDIS_REGISTER_NONE)
    out.loads = ToRegister(first.reg.value);
}

}  // namespace

std::optional<Instruction> DecodeInstruction(std::string_view bytes, uint64_t address) {
  ZydisDecodedInstruction decoded;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&Decoder(), bytes.data(), bytes.size(), &decoded,
                                           operands.data())))
    return std::nullopt;
  Instruction out;
  out.address = address;
  out.length = decoded.length;
  out.kind = KindOf(decoded, operands.data());
  ReadOperands(decoded, operands.data(), out);
  return out;
}

std::string DescribeInstruction(std::string_view bytes, uint64_t address) {
  ZydisDecodedInstruction decoded;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&Decoder(), bytes.data(), bytes.size(), &decoded,
                                           operands.data())))
    return "(no instruction)";
  return Format(decoded, operands.data(), address);
}

}  // namespace wf::elf
