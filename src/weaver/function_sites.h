// Where a function begins and ends, for probes.
//
// The entry need not be probed at its first instruction. Everything up to the first branch, call or branch
// target runs exactly once per call, so any instruction there will do, if the values to read are still
// available. The kernel emulates some instructions (CostClass), and a probe on one of these is twenty times
// cheaper than on others.
//
// The ends are its `ret`s and the jumps out of it. Return probes of the kernel (uretprobes) would be simpler,
// but they put their own return address on the stack; an exception cannot unwind past it and ends the
// program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "weaver/instruction.h"
#include "weaver/probe_site.h"

namespace wf::weaver {

// Instructions that may hold an entry probe, in order; the first is the function's own first. `written`: the
// registers written since the entry.
struct EntryCandidate {
  const Instruction* instruction = nullptr;  // in the Code
  uint32_t written = 0;
  uint64_t pushed = 0;  // bytes that the stack has grown; valid only if `pushed_known`
  bool pushed_known = true;
};
std::vector<EntryCandidate> EntryCandidates(const Code& code);

struct FunctionEnd {
  const Instruction* instruction = nullptr;
  SiteKind kind = SiteKind::kReturn;  // or kTailJump
};
struct FunctionEnds {
  std::vector<FunctionEnd> ends;
  std::vector<std::string> notes;
};
// `tail_calls`: addresses of jumps that are calls according to the debug information.
FunctionEnds FindEnds(const elf::ElfImage& image, const Code& code,
                      const std::vector<uint64_t>& tail_calls);

// The parts of the function that begins at a symbol: its own bytes, and those the compiler put elsewhere
// (".cold"). If the debug information has `ranges`, those are used instead.
std::vector<elf::AddressRange> FunctionRanges(const elf::ElfImage& image,
                                              const elf::FunctionSymbol& symbol,
                                              std::vector<elf::AddressRange> ranges);

}  // namespace wf::weaver
