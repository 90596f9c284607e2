// Functions as described by the debug information.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_image.h"

namespace wf::weaver {

struct DwarfFunction {
  Dwarf_Die die;
  Dwarf_Die unit;
  std::vector<elf::AddressRange> ranges;
  std::vector<uint64_t> tail_calls;  // addresses of jumps that call
};

// The function that begins at `address`. Empty: no debug information about it.
std::optional<DwarfFunction> FindDwarfFunction(const elf::ElfImage& image, uint64_t address);
// The function that contains `address`.
std::optional<DwarfFunction> DwarfFunctionAround(const elf::ElfImage& image, uint64_t address);

// Calls `visit` for every entry below `die` down to functions, types and blocks, until it returns false. The
// walk is bounded: false if its bound or `visit` ended it.
bool WalkDies(const Dwarf_Die& die, const std::function<bool(const Dwarf_Die&)>& visit);

// Places where calls of the function were replaced by its body.
struct InlinedPlaces {
  size_t count = 0;
  std::vector<std::string> callers;  // some of the functions that contain them
  bool complete = true;              // false: a full search would have taken too long
};
InlinedPlaces FindInlinedPlaces(const elf::ElfImage& image,
                                const std::function<bool(const Dwarf_Die& function)>& is_it);

// In order, including those of a parameter pack.
std::vector<Dwarf_Die> ParametersOf(const Dwarf_Die& function);
std::string LinkageName(const Dwarf_Die& function);

}  // namespace wf::weaver
