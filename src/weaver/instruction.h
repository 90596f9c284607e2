// Machine instructions with what a probe on them costs, for the choice of probe sites.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "elf/elf_image.h"
#include "elf/instruction.h"
#include "weaver/probe_site.h"

namespace wf::weaver {

using elf::InstructionKind;

struct Instruction : elf::Instruction {
  CostClass cost = CostClass::kStepped;
  // The kernel turns a probe on this one into a call, which writes below the stack pointer: into the red zone.
  bool five_byte_nop = false;
};

// One instruction, `bytes` being what stands at `address`. None: not an instruction.
std::optional<Instruction> Decode(std::string_view bytes, uint64_t address);

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
