#include "weaver/site_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "weaver/dwarf_function.h"
#include "weaver/export_reader.h"
#include "weaver/function_sites.h"
#include "weaver/instruction.h"
#include "weaver/value_place.h"

namespace wf::weaver {
namespace {

bool IsOfEntry(const ExportExpression& expression) {
  return expression.source == ExportSource::kArgument ||
         expression.source == ExportSource::kArgumentNumber;
}

ValueRead Unknown(std::string note) {
  ValueRead out;
  out.form = ValueForm::kUnknown;
  out.note = std::move(note);
  return out;
}

ProbeSite MakeSite(const elf::ElfImage& image, SiteKind kind, const Instruction& instruction) {
  ProbeSite site;
  site.kind = kind;
  site.address = instruction.address;
  site.offset = image.OffsetOf(instruction.address).value_or(0);
  site.cost = instruction.cost;
  site.instruction =
      elf::DescribeInstruction(image.Text(instruction.address, 16), instruction.address);
  return site;
}

// The values at one place, as far as they are to be had there.
struct ValuesHere {
  std::vector<ValueRead> values;
  size_t missing = 0;
};

Result<ValuesHere> ReadAll(const std::vector<Export>& exports, const ReadPlace& place) {
  ValuesHere out;
  for (const Export& one : exports) {
    if (place.at == ReadAt::kEntry && (one.expression.source == ExportSource::kReturnValue ||
                                       one.expression.source == ExportSource::kElapsed)) {
      out.values.push_back(Unknown("not known before the function ends"));
      continue;
    }
    auto value = ReadExport(one.expression, place);
    if (!value.ok() && value.error().code != ErrorCode::kNotFound)
      return BadInput(
          fmt::format("export {} ('{}'): {}", one.name, one.text, value.error().message),
          value.error().hint);
    if (!value.ok()) ++out.missing;
    out.values.push_back(value.ok() ? std::move(value).value() : Unknown(value.error().message));
  }
  return out;
}

Recipe EntryFrame(const elf::ElfImage& image, const EntryCandidate& candidate) {
  if (auto frame = FrameAddress(image, candidate.instruction->address)) return std::move(*frame);
  if (!candidate.pushed_known) return {};
  Recipe out{{ReadOp::kRegister, Register::kRsp, 0, 0}};
  AppendAdd(out, static_cast<int64_t>(candidate.pushed + 8));
  return out;
}

// Everything about one function that its sites are built from.
struct Function {
  const elf::ElfImage& image;
  const FoundFunction& found;
  std::optional<DwarfFunction> dwarf;
  Code code;
};

// The cheapest instruction where most is to be had; the earlier one of equals.
Result<ProbeSite> EntrySite(const Function& function, const std::vector<Export>& exports) {
  std::optional<ProbeSite> best;
  size_t best_missing = 0;
  for (const EntryCandidate& candidate : EntryCandidates(function.code)) {
    const Instruction& instruction = *candidate.instruction;
    const bool cheaper =
        !best || (best->cost == CostClass::kStepped && instruction.cost == CostClass::kEmulated);
    // Only something missing is worth a look at an instruction that costs as much.
    if (!cheaper && best_missing == 0) continue;
    ReadPlace place{function.image,
                    function.dwarf ? &*function.dwarf : nullptr,
                    ReadAt::kEntry,
                    instruction.address,
                    candidate.written,
                    EntryFrame(function.image, candidate),
                    function.found.altered_copy};
    if (place.frame.empty() && best) continue;
    WF_ASSIGN(ValuesHere here, ReadAll(exports, place));
    if (best && (here.missing > best_missing || (here.missing == best_missing && !cheaper)))
      continue;
    best = MakeSite(function.image, SiteKind::kEntry, instruction);
    best->frame = place.frame;
    best->values = std::move(here.values);
    best_missing = here.missing;
  }
  if (!best)
    return BadInput(fmt::format("{}: its code cannot be read", function.found.name.demangled));
  return std::move(*best);
}

// Of an end: what was read at the entry, what is known only now.
Result<std::vector<ValueRead>> EndValues(const Function& function,
                                         const std::vector<Export>& exports, SiteKind kind,
                                         uint64_t address) {
  std::vector<ValueRead> out;
  for (const Export& one : exports) {
    if (IsOfEntry(one.expression)) {
      ValueRead value;
      value.form = ValueForm::kAtEntry;
      out.push_back(std::move(value));
      continue;
    }
    if (one.expression.source == ExportSource::kReturnValue && kind == SiteKind::kTailJump) {
      out.push_back(Unknown("it ends by calling another function, whose result is not seen here"));
      continue;
    }
    ReadPlace place{function.image,
                    function.dwarf ? &*function.dwarf : nullptr,
                    ReadAt::kReturn,
                    address,
                    0,
                    {},
                    function.found.altered_copy};
    auto value = ReadExport(one.expression, place);
    if (!value.ok())
      return BadInput(
          fmt::format("export {} ('{}'): {}", one.name, one.text, value.error().message),
          value.error().hint);
    out.push_back(std::move(value).value());
  }
  return out;
}

Status AddEnds(const Function& function, At at, const std::vector<Export>& exports,
               LocatedFunction& out) {
  const FunctionEnds ends =
      FindEnds(function.image, function.code,
               function.dwarf ? function.dwarf->tail_calls : std::vector<uint64_t>());
  size_t stepped = 0;
  for (const FunctionEnd& end : ends.ends) {
    ProbeSite site = MakeSite(function.image, end.kind, *end.instruction);
    site.happens = at == At::kExit || at == At::kLeave;
    // The return address is on top: the frame is right above it.
    site.frame = {{ReadOp::kRegister, Register::kRsp, 0, 0}, {ReadOp::kAdd, Register::kRax, 0, 8}};
    WF_ASSIGN(site.values, EndValues(function, exports, end.kind, site.address));
    stepped += site.cost == CostClass::kStepped ? 1 : 0;
    out.sites.push_back(std::move(site));
  }
  out.notes.insert(out.notes.end(), ends.notes.begin(), ends.notes.end());
  if (stepped > 0) {
    out.notes.push_back(
        fmt::format("each return costs about {} µs, because no kernel does a ret itself",
                    PredictedNanos(CostClass::kStepped) / 1000));
  }
  return {};
}

void NoteMissing(const std::vector<Export>& exports, const ProbeSite& site, LocatedFunction& out) {
  for (size_t i = 0; i < exports.size(); ++i) {
    const auto source = exports[i].expression.source;
    if (site.values[i].form != ValueForm::kUnknown || source == ExportSource::kReturnValue ||
        source == ExportSource::kElapsed)
      continue;
    out.notes.push_back(fmt::format("export {} ('{}') is null here: {}", exports[i].name,
                                    exports[i].text, site.values[i].note));
  }
}

}  // namespace

Result<LocatedFunction> BuildFunction(const elf::ElfImage& image, const FoundFunction& found, At at,
                                      const std::vector<Export>& exports) {
  Function function{image, found, FindDwarfFunction(image, found.symbol.address), {}};
  function.code = DecodeRanges(
      image,
      FunctionRanges(image, found.symbol,
                     function.dwarf ? function.dwarf->ranges : std::vector<elf::AddressRange>()));
  LocatedFunction out;
  out.name = found.name.demangled;
  if (!found.name.clone.empty()) out.name += " [" + found.name.clone + "]";
  out.symbol = std::string(found.symbol.name);
  out.build_id = image.build_id();
  out.dwarf = function.dwarf.has_value();
  const bool needs_entry = std::any_of(exports.begin(), exports.end(), [](const Export& one) {
    return IsOfEntry(one.expression) || one.expression.source == ExportSource::kElapsed;
  });
  out.activations = at == At::kThrow || at == At::kLeave || (at == At::kExit && needs_entry);
  if (at == At::kEntry || out.activations) {
    WF_ASSIGN(ProbeSite entry, EntrySite(function, exports));
    entry.happens = at == At::kEntry;
    if (out.activations && entry.frame.empty())
      return BadInput(fmt::format("{}: the address of its frame is not known", out.name));
    NoteMissing(exports, entry, out);
    out.sites.push_back(std::move(entry));
  }
  if (at != At::kEntry) WF_TRY(AddEnds(function, at, exports, out));
  if (!out.dwarf)
    out.notes.emplace_back("no debug information: only arg0 to arg5 and retval can be read");
  return out;
}

Result<LocatedFunction> BuildLine(const elf::ElfImage& image, uint64_t address,
                                  const std::vector<Export>& exports) {
  const auto dwarf = DwarfFunctionAround(image, address);
  if (!dwarf) return NotFound(fmt::format("{:#x}: belongs to no function", address));
  LocatedFunction out;
  out.name = ParseFunctionName(LinkageName(dwarf->die)).demangled;
  out.build_id = image.build_id();
  out.dwarf = true;
  const bool at_entry =
      std::any_of(dwarf->ranges.begin(), dwarf->ranges.end(),
                  [&](const elf::AddressRange& range) { return range.begin == address; }) &&
      !image.SymbolsAt(address).empty();
  if (at_entry) {
    // The line where a function begins is its entry, with the same choice of instructions.
    const elf::FunctionSymbol& symbol = *image.SymbolsAt(address)[0];
    const FoundFunction found{symbol, ParseFunctionName(symbol.name), false};
    WF_ASSIGN(LocatedFunction entry, BuildFunction(image, found, At::kEntry, exports));
    for (ProbeSite& site : entry.sites) site.kind = SiteKind::kLine;
    return entry;
  }
  auto instruction = Decode(image.Text(address, 16), address);
  if (!instruction)
    return BadInput(fmt::format("{}: no instruction at {:#x}", image.file(), address));
  if (instruction->five_byte_nop) {
    // What the kernel makes of a probe there writes below the stack pointer; the next instruction is as good.
    instruction = Decode(image.Text(address + 5, 16), address + 5);
    if (!instruction || instruction->five_byte_nop)
      return BadInput(fmt::format("{}: no place for a probe at {:#x}", image.file(), address));
  }
  ReadPlace place{image, &*dwarf, ReadAt::kLine, instruction->address, 0, {}, false};
  WF_ASSIGN(ValuesHere here, ReadAll(exports, place));
  ProbeSite site = MakeSite(image, SiteKind::kLine, *instruction);
  site.values = std::move(here.values);
  NoteMissing(exports, site, out);
  out.sites.push_back(std::move(site));
  return out;
}

std::vector<ValueRead> ValuesOfUnwinding(const std::vector<Export>& exports) {
  std::vector<ValueRead> out;
  for (const Export& one : exports) {
    ValueRead value;
    switch (one.expression.source) {
      case ExportSource::kElapsed:
        value.form = ValueForm::kElapsed;
        break;
      case ExportSource::kInteger:
        value.form = ValueForm::kInteger;
        value.value = {{ReadOp::kConstant, Register::kRax, 0, one.expression.number}};
        break;
      case ExportSource::kText:
        value.form = ValueForm::kText;
        value.text = one.expression.name;
        break;
      case ExportSource::kReturnValue:
        value = Unknown("a function left by an exception returns nothing");
        break;
      default:
        value.form = ValueForm::kAtEntry;
        break;
    }
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace wf::weaver
