#include "weaver/dwarf_function.h"

#include <algorithm>
#include <chrono>

#include "weaver/dwarf_types.h"
#include "weaver/function_name.h"

namespace wf::weaver {
namespace {

constexpr int kMaxInlineDepth = 64;
constexpr size_t kMaxDies = 50'000'000;  // of one walk: a gigabyte of debug information
// Inlined places are listed only as a help, so the search for them is short.
constexpr std::chrono::milliseconds kInlinedBudget{400};

bool HoldsOthers(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_module:
      return true;
    default:
      return false;
  }
}

bool Walk(const Dwarf_Die& die, const std::function<bool(const Dwarf_Die&)>& visit, int depth,
          size_t& budget) {
  Dwarf_Die copy = die, child;
  if (depth > kMaxInlineDepth || dwarf_child(&copy, &child) != 0) return true;
  do {
    if (budget-- == 0) return false;
    if (!visit(child)) return false;
    if (HoldsOthers(TagOf(child)) && !Walk(child, visit, depth + 1, budget)) return false;
  } while (dwarf_siblingof(&child, &child) == 0);
  return true;
}

std::vector<elf::AddressRange> RangesOf(const Dwarf_Die& die) {
  std::vector<elf::AddressRange> out;
  Dwarf_Die copy = die;
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&copy, at, &base, &begin, &end)) > 0;) {
    if (end > begin && out.size() < 1000) out.push_back({begin, end});
  }
  return out;
}

std::vector<uint64_t> TailCalls(const Dwarf_Die& function) {
  std::vector<uint64_t> out;
  WalkDies(function, [&](const Dwarf_Die& die) {
    const int tag = TagOf(die);
    if (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site) return true;
    if (!HasFlag(die, DW_AT_call_tail_call) && !HasFlag(die, DW_AT_GNU_tail_call)) return true;
    Dwarf_Die copy = die;
    Dwarf_Attribute attribute;
    Dwarf_Addr address = 0;
    // Only the address of the jump itself serves; the address behind it does not tell where it begins.
    if (dwarf_attr(&copy, DW_AT_call_pc, &attribute) != nullptr &&
        dwarf_formaddr(&attribute, &address) == 0)
      out.push_back(address);
    return true;
  });
  return out;
}

// The unit's functions; walked once, because a glob asks for hundreds of them.
const std::vector<elf::UnitFunction>& FunctionsOf(const elf::ElfImage& image,
                                                  const Dwarf_Die& unit) {
  std::vector<elf::UnitFunction>& out = image.FunctionCache(unit.addr);
  if (!out.empty()) return out;
  WalkDies(unit, [&](const Dwarf_Die& die) {
    if (TagOf(die) != DW_TAG_subprogram) return true;
    for (const elf::AddressRange& range : RangesOf(die)) out.push_back({range, die});
    return true;
  });
  return out;
}

std::optional<DwarfFunction> Find(const elf::ElfImage& image, uint64_t address,
                                  const std::function<bool(const elf::AddressRange&)>& fits) {
  const auto unit = image.UnitAt(address);
  if (!unit) return std::nullopt;
  for (const elf::UnitFunction& one : FunctionsOf(image, *unit)) {
    if (!fits(one.range)) continue;
    return DwarfFunction{one.die, *unit, RangesOf(one.die), TailCalls(one.die)};
  }
  return std::nullopt;
}

}  // namespace

bool WalkDies(const Dwarf_Die& die, const std::function<bool(const Dwarf_Die&)>& visit) {
  size_t budget = kMaxDies;
  return Walk(die, visit, 0, budget);
}

std::optional<DwarfFunction> FindDwarfFunction(const elf::ElfImage& image, uint64_t address) {
  return Find(image, address,
              [&](const elf::AddressRange& range) { return range.begin == address; });
}

std::optional<DwarfFunction> DwarfFunctionAround(const elf::ElfImage& image, uint64_t address) {
  return Find(image, address,
              [&](const elf::AddressRange& range) { return range.Contains(address); });
}

std::vector<Dwarf_Die> ParametersOf(const Dwarf_Die& function) {
  std::vector<Dwarf_Die> out;
  for (const Dwarf_Die& child : Children(function)) {
    if (TagOf(child) == DW_TAG_formal_parameter) out.push_back(child);
    if (TagOf(child) != DW_TAG_GNU_formal_parameter_pack) continue;
    for (const Dwarf_Die& inner : Children(child)) {
      if (TagOf(inner) == DW_TAG_formal_parameter) out.push_back(inner);
    }
  }
  return out;
}

std::string LinkageName(const Dwarf_Die& function) {
  Dwarf_Die copy = function;
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(&copy, name, &attribute) == nullptr) continue;
    const char* text = dwarf_formstring(&attribute);
    if (text != nullptr) return text;
  }
  return DieName(function);
}

InlinedPlaces FindInlinedPlaces(const elf::ElfImage& image,
                                const std::function<bool(const Dwarf_Die& function)>& is_it) {
  InlinedPlaces out;
  const auto until = std::chrono::steady_clock::now() + kInlinedBudget;
  size_t visited = 0;
  for (const Dwarf_Die& unit : image.Units()) {
    Dwarf_Die function{};
    const bool whole = WalkDies(unit, [&](const Dwarf_Die& die) {
      if (++visited % 1024 == 0 && std::chrono::steady_clock::now() > until) return false;
      const int tag = TagOf(die);
      if (tag == DW_TAG_subprogram) function = die;
      if (tag != DW_TAG_inlined_subroutine || !is_it(die)) return true;
      ++out.count;
      const std::string caller = ParseFunctionName(LinkageName(function)).qualified;
      if (out.callers.size() < 5 &&
          std::find(out.callers.begin(), out.callers.end(), caller) == out.callers.end())
        out.callers.push_back(caller);
      return true;
    });
    if (!whole) {
      out.complete = false;
      break;
    }
  }
  return out;
}

}  // namespace wf::weaver
