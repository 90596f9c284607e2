#include "weaver/instruction.h"

#include <algorithm>

namespace wf::weaver {
namespace {

// A function above this is not walked to its end; machine-made ones of some megabytes are.
constexpr uint64_t kMaxFunctionBytes = uint64_t{64} << 20;

// What arch/x86/kernel/uprobes.c does itself: nops, push of a general register in its short form, relative jumps and
// calls without the 16-bit prefix. Measured by probe_cost_bench.
CostClass CostOf(const elf::Instruction& instruction, std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  switch (instruction.kind) {
    case InstructionKind::kNop:
      return CostClass::kEmulated;
    case InstructionKind::kPush: {
      const size_t at = byte(0) == 0x41 ? 1 : 0;
      const bool short_form = instruction.length == at + 1 && byte(at) >= 0x50 && byte(at) <= 0x57;
      return short_form ? CostClass::kEmulated : CostClass::kStepped;
    }
    case InstructionKind::kJump:
    case InstructionKind::kCall:
      return byte(0) == 0xE8 || byte(0) == 0xE9 || byte(0) == 0xEB ? CostClass::kEmulated
                                                                   : CostClass::kStepped;
    case InstructionKind::kJumpIf:
      return (byte(0) & 0xF0) == 0x70 ||
                     (instruction.length > 2 && byte(0) == 0x0F && (byte(1) & 0xF0) == 0x80)
                 ? CostClass::kEmulated
                 : CostClass::kStepped;
    default:
      return CostClass::kStepped;
  }
}

}  // namespace

uint32_t PredictedNanos(CostClass cost) {
  // Medians of probe_cost_bench on Linux 6.18 in a virtual machine, an empty program: 640–770 ns and 11–13.6 µs.
  return cost == CostClass::kEmulated ? 700 : 12'000;
}

std::optional<Instruction> Decode(std::string_view bytes, uint64_t address) {
  const auto decoded = elf::DecodeInstruction(bytes, address);
  if (!decoded) return std::nullopt;
  Instruction out{*decoded};
  out.cost = CostOf(out, bytes);
  out.five_byte_nop = out.kind == InstructionKind::kNop && out.length == 5;
  return out;
}

bool Code::Contains(uint64_t address) const {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const elf::AddressRange& range) { return range.Contains(address); });
}

Code DecodeRanges(const elf::ElfImage& image, std::vector<elf::AddressRange> ranges) {
  Code out;
  out.ranges = std::move(ranges);
  for (const elf::AddressRange& range : out.ranges) {
    if (range.end <= range.begin) continue;
    const std::string_view text =
        image.Text(range.begin, std::min(range.end - range.begin, kMaxFunctionBytes));
    for (size_t at = 0; at < text.size();) {
      auto instruction = Decode(text.substr(at), range.begin + at);
      if (!instruction) {
        ++out.undecoded_bytes;
        ++at;
        continue;
      }
      at += instruction->length;
      out.instructions.push_back(std::move(*instruction));
    }
  }
  return out;
}

}  // namespace wf::weaver
