#include "recorder/control/instruction.h"

#include <Zydis/Zydis.h>

#include <array>

namespace wf::recorder {
namespace {

const ZydisDecoder& Decoder() {
  static const ZydisDecoder kDecoder = [] {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return decoder;
  }();
  return kDecoder;
}

Flow FlowOf(const ZydisDecodedInstruction& decoded) {
  switch (decoded.meta.category) {
    case ZYDIS_CATEGORY_RET:
      return Flow::kEnd;
    case ZYDIS_CATEGORY_COND_BR:
      return Flow::kConditional;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return Flow::kJump;
    case ZYDIS_CATEGORY_CALL:
      return Flow::kCall;
    default:
      break;
  }
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT3:
      return Flow::kEnd;
    default:
      return Flow::kNext;
  }
}

}  // namespace

std::optional<Instruction> DecodeInstruction(std::string_view bytes, uint64_t address) {
  ZydisDecodedInstruction decoded;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&Decoder(), bytes.data(), bytes.size(), &decoded,
                                           operands.data())))
    return std::nullopt;
  Instruction out;
  out.length = decoded.length;
  out.flow = FlowOf(decoded);
  if (out.flow == Flow::kNext || decoded.operand_count_visible == 0) return out;
  const ZydisDecodedOperand& first = operands[0];
  ZyanU64 absolute = 0;
  const bool relative = first.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && first.imm.is_relative != 0;
  const bool fixed =
      first.type == ZYDIS_OPERAND_TYPE_MEMORY && first.mem.base == ZYDIS_REGISTER_RIP;
  if ((relative || fixed) &&
      ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded, &first, address, &absolute)))
    (relative ? out.target : out.slot) = absolute;
  return out;
}

}  // namespace wf::recorder
