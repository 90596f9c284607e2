#include "weaver/unwinder_sites.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "weaver/function_sites.h"
#include "weaver/instruction.h"
#include "weaver/value_place.h"

namespace wf::weaver {
namespace {

constexpr std::array<std::string_view, 5> kResumers{
    "_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "_Unwind_ForcedUnwind",
    "__libunwind_Registers_x86_64_jumpto"};

constexpr size_t kMaxSites = 100;
constexpr uint64_t kMaxRow = 1 << 16;

ProbeSite MakeUnwinderSite(const elf::ElfImage& image, const Instruction& instruction,
                           int64_t above) {
  ProbeSite site;
  site.kind = SiteKind::kUnwinder;
  site.address = instruction.address;
  site.offset = image.OffsetOf(instruction.address).value_or(0);
  site.cost = instruction.cost;
  site.instruction =
      elf::DescribeInstruction(image.Text(instruction.address, 16), instruction.address);
  site.frame = {{ReadOp::kRegister, Register::kRsp, 0, 0}};
  AppendAdd(site.frame, above);
  return site;
}

void AddNamed(const elf::ElfImage& image, std::vector<ProbeSite>& out) {
  std::vector<uint64_t> seen;
  for (const elf::FunctionSymbol& symbol : image.symbols()) {
    if (std::find(kResumers.begin(), kResumers.end(),
                  symbol.name.substr(0, symbol.name.find('@'))) == kResumers.end())
      continue;
    if (std::find(seen.begin(), seen.end(), symbol.address) != seen.end()) continue;
    seen.push_back(symbol.address);
    const Code code = DecodeRanges(image, FunctionRanges(image, symbol, {}));
    const Instruction* before = nullptr;
    for (const Instruction& instruction : code.instructions) {
      if (instruction.kind == InstructionKind::kReturn)
        out.push_back(MakeUnwinderSite(image, instruction, 8));
      // The register was popped from the new stack just before: what is left is the frame's own stack pointer.
      const bool popped =
          instruction.kind == InstructionKind::kIndirectJump && instruction.through &&
          before != nullptr &&
          (before->writes & (uint32_t{1} << static_cast<int>(Register::kRsp))) != 0 &&
          (before->writes & (uint32_t{1} << static_cast<int>(*instruction.through))) != 0;
      if (popped) out.push_back(MakeUnwinderSite(image, instruction, 0));
      before = &instruction;
    }
  }
}

// mov rsp, rcx; pop rcx; jmp rcx (gcc 11 and later), and before that mov rsp, rcx; ret.
struct Epilogue {
  std::string_view bytes;
  uint64_t last;  // where in them the last instruction begins
  int64_t above;  // the stack pointer that the program goes on with, from the one there
};
constexpr std::array<Epilogue, 2> kEpilogues{
    {{"\x48\x89\xcc\x59\xff\xe1", 4, 0}, {"\x48\x89\xcc\xc3", 3, 8}}};

// Bytes may look like this in the middle of another instruction, and a probe there would break the program. The unwind
// table's rows begin at instructions: from there on, step by step.
bool IsInstruction(const elf::ElfImage& image, uint64_t address) {
  Dwarf_Frame* frame = nullptr;
  if (image.unwind_table() == nullptr ||
      dwarf_cfi_addrframe(image.unwind_table(), address, &frame) != 0)
    return false;
  Dwarf_Addr begin = 0, end = 0;
  dwarf_frame_info(frame, &begin, &end, nullptr);
  std::free(frame);  // NOLINT: libdw's own
  if (begin > address || address - begin > kMaxRow) return false;
  while (begin < address) {
    const auto instruction = Decode(image.Text(begin, 16), begin);
    if (!instruction) return false;
    begin += instruction->length;
  }
  return begin == address;
}

void AddByCode(const elf::ElfImage& image, std::vector<ProbeSite>& out) {
  for (const elf::AddressRange& range : image.ExecutableRanges()) {
    const std::string_view text = image.Text(range.begin, range.end - range.begin);
    for (const Epilogue& epilogue : kEpilogues) {
      for (size_t at = 0; (at = text.find(epilogue.bytes, at)) != std::string_view::npos; ++at) {
        const uint64_t address = range.begin + at + epilogue.last;
        const auto instruction = Decode(text.substr(at + epilogue.last), address);
        const bool known = std::any_of(
            out.begin(), out.end(), [&](const ProbeSite& site) { return site.address == address; });
        if (instruction && !known && out.size() < kMaxSites && IsInstruction(image, address))
          out.push_back(MakeUnwinderSite(image, *instruction, epilogue.above));
      }
    }
  }
}

}  // namespace

bool MayHoldUnwinder(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libgcc_s") || name.starts_with("libunwind") ||
         name.starts_with("libc++abi");
}

std::vector<ProbeSite> FindUnwinderSites(const elf::ElfImage& image) {
  std::vector<ProbeSite> out;
  AddNamed(image, out);
  AddByCode(image, out);
  std::sort(out.begin(), out.end(),
            [](const ProbeSite& a, const ProbeSite& b) { return a.address < b.address; });
  return out;
}

}  // namespace wf::weaver
