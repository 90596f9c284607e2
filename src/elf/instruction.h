// Machine instructions of x86-64: where they lead, and what they do to registers. The one decoder, for whoever walks
// along code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "elf/register.h"

namespace wf::elf {

enum class InstructionKind : uint8_t {
  kOther,
  kNop,
  kPush,  // of a register
  kReturn,
  kJump,
  kJumpIf,
  kIndirectJump,
  kCall,
  kIndirectCall,
  kTrap,  // nothing follows it: ud2, hlt, int3
};

struct Instruction {
  uint64_t address = 0;
  uint8_t length = 0;
  InstructionKind kind = InstructionKind::kOther;
  std::optional<uint64_t> target;  // of a relative jump or call
  // Of an indirect one through memory at a fixed address: that address.
  std::optional<uint64_t> slot;
  bool indexed = false;             // of an indirect jump through memory: by a table
  std::optional<Register> through;  // of an indirect jump: by this register
  uint32_t writes = 0;              // bit n: the register n of enum Register, or part of it
  std::optional<Register> loads;    // it loads this register from memory, without an index
  bool adds = false;                // it adds to a register
};

// One instruction, `bytes` being what stands at `address`. None: not an instruction.
std::optional<Instruction> DecodeInstruction(std::string_view bytes, uint64_t address);

// In words: "push rbp".
std::string DescribeInstruction(std::string_view bytes, uint64_t address);

}  // namespace wf::elf
