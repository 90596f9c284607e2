#include "weaver/function_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "weaver/function_name.h"
#include "weaver/value_place.h"

namespace wf::weaver {
namespace {

constexpr size_t kMaxCandidates = 64;

bool EndsBlock(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::kReturn:
    case InstructionKind::kJump:
    case InstructionKind::kJumpIf:
    case InstructionKind::kIndirectJump:
    case InstructionKind::kCall:
    case InstructionKind::kIndirectCall:
    case InstructionKind::kTrap:
      return true;
    default:
      return false;
  }
}

// "sub rsp, …" and the like: what only prologues do, so that no table of a switch leads to it.
bool MovesStack(const Instruction& instruction) {
  return (instruction.writes & (uint32_t{1} << static_cast<int>(Register::kRsp))) != 0;
}

// Whether an indirect jump is a switch's: through a table, or by a register that an addition computed (offset from the
// table). A call through a pointer loads the register, or has got it as an argument.
bool IsSwitch(const Code& code, size_t index) {
  const Instruction& jump = code.instructions[index];
  if (jump.indexed) return true;
  if (!jump.through) return false;
  const uint32_t bit = uint32_t{1} << static_cast<int>(*jump.through);
  for (size_t i = index; i-- > 0 && index - i < 24;) {
    const Instruction& before = code.instructions[i];
    if ((before.writes & bit) != 0) return before.adds || before.loads != jump.through;
    if (before.kind == InstructionKind::kReturn || before.kind == InstructionKind::kJump ||
        before.kind == InstructionKind::kIndirectJump)
      break;
  }
  return false;
}

// At a jump that is a call the stack is as the caller left it: the return address is on top. None: the unwind table does
// not say.
std::optional<bool> StackIsEmptyAt(const elf::ElfImage& image, uint64_t address) {
  const auto frame = FrameAddress(image, address);
  if (!frame) return std::nullopt;
  const Recipe expected{{ReadOp::kRegister, Register::kRsp, 0, 0},
                        {ReadOp::kAdd, Register::kRax, 0, 8}};
  return *frame == expected;
}

}  // namespace

std::vector<EntryCandidate> EntryCandidates(const Code& code) {
  std::vector<EntryCandidate> out;
  if (code.ranges.empty() || code.instructions.empty()) return out;
  std::unordered_set<uint64_t> targets;
  bool by_table = false;
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    const Instruction& instruction = code.instructions[i];
    if (instruction.kind == InstructionKind::kJump ||
        instruction.kind == InstructionKind::kJumpIf ||
        instruction.kind == InstructionKind::kCall) {
      if (instruction.target) targets.insert(*instruction.target);
    }
    by_table |= instruction.kind == InstructionKind::kIndirectJump && IsSwitch(code, i);
  }
  EntryCandidate candidate;
  uint64_t expected = code.ranges[0].begin;
  for (const Instruction& instruction : code.instructions) {
    if (instruction.address != expected || out.size() == kMaxCandidates) break;
    expected += instruction.length;
    const bool first = out.empty();
    // A jump back to the entry re-runs the function but is not a call. This is too rare to be worth a check, so the
    // probe at the entry counts it too; that place is what users expect.
    if (!first && targets.count(instruction.address) != 0) break;
    candidate.instruction = &instruction;
    // A switch's table may lead anywhere, but not between the pushes of a prologue.
    const bool reachable_by_table = !first && by_table && !MovesStack(instruction);
    if (first || (!reachable_by_table && !instruction.five_byte_nop)) out.push_back(candidate);
    if (EndsBlock(instruction.kind)) break;
    candidate.written |= instruction.writes;
    if (instruction.kind == InstructionKind::kPush) {
      candidate.pushed += 8;
    } else if (MovesStack(instruction)) {
      candidate.pushed_known = false;
    }
  }
  return out;
}

FunctionEnds FindEnds(const elf::ElfImage& image, const Code& code,
                      const std::vector<uint64_t>& tail_calls) {
  FunctionEnds out;
  size_t conditional = 0;
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    const Instruction& instruction = code.instructions[i];
    const bool known_call =
        std::find(tail_calls.begin(), tail_calls.end(), instruction.address) != tail_calls.end();
    switch (instruction.kind) {
      case InstructionKind::kReturn:
        out.ends.push_back({&instruction, SiteKind::kReturn});
        break;
      case InstructionKind::kJump: {
        if (!instruction.target || code.Contains(*instruction.target)) {
          // A function that calls itself last jumps to its own beginning: a call, which the entry probe does not see
          // as a new one if it stands further on. It is a loop then, and no end.
          break;
        }
        const auto empty = StackIsEmptyAt(image, instruction.address);
        if (!known_call && empty == false) {
          out.notes.push_back(fmt::format(
              "the jump at {:#x} leads to a part of the function that has no name here; its ends "
              "are not seen",
              instruction.address));
          break;
        }
        out.ends.push_back({&instruction, SiteKind::kTailJump});
        break;
      }
      case InstructionKind::kJumpIf:
        if (instruction.target && !code.Contains(*instruction.target) &&
            StackIsEmptyAt(image, instruction.address).value_or(false))
          ++conditional;
        break;
      case InstructionKind::kIndirectJump:
        if (known_call ||
            (!IsSwitch(code, i) && StackIsEmptyAt(image, instruction.address).value_or(true)))
          out.ends.push_back({&instruction, SiteKind::kTailJump});
        break;
      default:
        break;
    }
  }
  if (conditional > 0) {
    out.notes.push_back(fmt::format(
        "{} conditional jump(s) out of the function may end it; these ends are not seen",
        conditional));
  }
  if (out.ends.empty()) out.notes.emplace_back("it never returns");
  if (code.undecoded_bytes > 0) {
    out.notes.push_back(
        fmt::format("{} bytes of it are not instructions and were skipped", code.undecoded_bytes));
  }
  return out;
}

std::vector<elf::AddressRange> FunctionRanges(const elf::ElfImage& image,
                                              const elf::FunctionSymbol& symbol,
                                              std::vector<elf::AddressRange> ranges) {
  // The entry's range first.
  std::stable_partition(ranges.begin(), ranges.end(), [&](const elf::AddressRange& range) {
    return range.begin == symbol.address;
  });
  if (!ranges.empty() && ranges[0].begin == symbol.address) return ranges;
  ranges.clear();
  uint64_t end = symbol.address + symbol.size;
  if (symbol.size == 0 || end < symbol.address) {
    // Up to the next function. Hand-written code often has no size.
    const auto next =
        std::upper_bound(image.symbols().begin(), image.symbols().end(), symbol.address,
                         [](uint64_t a, const elf::FunctionSymbol& s) { return a < s.address; });
    end = next == image.symbols().end() ? symbol.address + 4096 : next->address;
  }
  ranges.push_back({symbol.address, end});
  const std::string base(symbol.name);
  for (const elf::FunctionSymbol& other : image.symbols()) {
    if (other.size != 0 && other.name.size() > base.size() && other.name.starts_with(base) &&
        (other.name.substr(base.size()) == ".cold" ||
         other.name.substr(base.size()).starts_with(".cold.")))
      ranges.push_back({other.address, other.address + other.size});
  }
  return ranges;
}

}  // namespace wf::weaver
