// One machine instruction of x86-64, as far as a walk along the code needs to know it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wf::recorder {

enum class Flow : uint8_t {
  kNext,  // the instruction behind it follows
  kCall,
  kJump,
  kConditional,
  kEnd,  // return, trap
};

struct Instruction {
  uint8_t length = 0;
  Flow flow = Flow::kNext;
  std::optional<uint64_t> target;  // of a relative jump or call
  std::optional<uint64_t> slot;    // of one through a pointer at a fixed address: that address
};

// None: `bytes`, which stand at `address`, are not an instruction.
std::optional<Instruction> DecodeInstruction(std::string_view bytes, uint64_t address);

}  // namespace wf::recorder
