// Where a walk along the code goes from an instruction.
#pragma once

#include <cstdint>

#include "elf/instruction.h"

namespace wf::recorder {

enum class Flow : uint8_t {
  kNext,  // the instruction behind it follows
  kCall,
  kJump,
  kConditional,
  kEnd,  // return, trap
};

inline Flow FlowOf(elf::InstructionKind kind) {
  switch (kind) {
    case elf::InstructionKind::kReturn:
    case elf::InstructionKind::kTrap:
      return Flow::kEnd;
    case elf::InstructionKind::kJumpIf:
      return Flow::kConditional;
    case elf::InstructionKind::kJump:
    case elf::InstructionKind::kIndirectJump:
      return Flow::kJump;
    case elf::InstructionKind::kCall:
    case elf::InstructionKind::kIndirectCall:
      return Flow::kCall;
    case elf::InstructionKind::kOther:
    case elf::InstructionKind::kNop:
    case elf::InstructionKind::kPush:
      break;
  }
  return Flow::kNext;
}

}  // namespace wf::recorder
