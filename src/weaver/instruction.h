// Machine instructions of x86-64, as far as the choice of probe sites needs to know them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_image.h"
#include "weaver/probe_site.h"

namespace wf::weaver {

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
  CostClass cost = CostClass::kStepped;
  std::optional<uint64_t> target;  // of a relative jump or call
  std::optional<uint64_t>
      slot;              // of an indirect one through memory at a fixed address: that address
  bool indexed = false;  // of an indirect jump through memory: by a table
  std::optional<Register> through;  // of an indirect jump: by this register
  uint32_t writes = 0;              // bit n: the register n of enum Register, or part of it
  std::optional<Register> loads;    // it loads this register from memory, without an index
  bool adds = false;                // it adds to a register
  // The kernel turns a probe on this one into a call, which writes below the stack pointer: into the red zone.
  bool five_byte_nop = false;
};

// One instruction, `bytes` being what stands at `address`. None: not an instruction.
std::optional<Instruction> Decode(std::string_view bytes, uint64_t address);

// In words: "push rbp".
std::string Describe(std::string_view bytes, uint64_t address);

// The instructions of the ranges, in order, by walking from the first to the last: compilers for x86-64 put no data
// between them. Bytes that are none are passed over and counted.
struct Code {
  std::vector<elf::AddressRange> ranges;  // the first is where the function begins
  std::vector<Instruction> instructions;
  uint64_t undecoded_bytes = 0;
  bool Contains(uint64_t address) const;
};
Code DecodeRanges(const elf::ElfImage& image, std::vector<elf::AddressRange> ranges);

}  // namespace wf::weaver
