#include "weaver/unwinder_sites.h"

#include <algorithm>
#include <array>

#include "weaver/function_sites.h"
#include "weaver/instruction.h"
#include "weaver/value_place.h"

namespace wf::weaver {
namespace {

constexpr std::array<std::string_view, 5> kResumers{
    "_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "_Unwind_ForcedUnwind",
    "__libunwind_Registers_x86_64_jumpto"};

ProbeSite MakeSite(const ElfImage& image, const Instruction& instruction, int64_t above) {
  ProbeSite site;
  site.kind = SiteKind::kUnwinder;
  site.address = instruction.address;
  site.offset = image.OffsetOf(instruction.address).value_or(0);
  site.cost = instruction.cost;
  site.instruction = Describe(image.Text(instruction.address, 16), instruction.address);
  site.frame = {{ReadOp::kRegister, Register::kRsp, 0, 0}};
  AppendAdd(site.frame, above);
  return site;
}

}  // namespace

bool MayHoldUnwinder(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libgcc_s") || name.starts_with("libunwind") ||
         name.starts_with("libc++abi");
}

std::vector<ProbeSite> FindUnwinderSites(const ElfImage& image) {
  std::vector<ProbeSite> out;
  std::vector<uint64_t> seen;
  for (const FunctionSymbol& symbol : image.symbols()) {
    if (std::find(kResumers.begin(), kResumers.end(),
                  symbol.name.substr(0, symbol.name.find('@'))) == kResumers.end())
      continue;
    if (std::find(seen.begin(), seen.end(), symbol.address) != seen.end()) continue;
    seen.push_back(symbol.address);
    const Code code = DecodeRanges(image, FunctionRanges(image, symbol, {}));
    const Instruction* before = nullptr;
    for (const Instruction& instruction : code.instructions) {
      if (instruction.kind == InstructionKind::kReturn)
        out.push_back(MakeSite(image, instruction, 8));
      // The register was popped from the new stack just before: what is left is the frame's own stack pointer.
      const bool popped =
          instruction.kind == InstructionKind::kIndirectJump && instruction.through &&
          before != nullptr &&
          (before->writes & (uint32_t{1} << static_cast<int>(Register::kRsp))) != 0 &&
          (before->writes & (uint32_t{1} << static_cast<int>(*instruction.through))) != 0;
      if (popped) out.push_back(MakeSite(image, instruction, 0));
      before = &instruction;
    }
  }
  return out;
}

}  // namespace wf::weaver
