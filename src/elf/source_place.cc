#include "elf/source_place.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace wf::elf {

std::optional<SourceLine> LineAt(const ElfImage& image, uint64_t address) {
  std::optional<Dwarf_Die> unit = image.UnitAt(address);
  if (!unit) return std::nullopt;
  Dwarf_Line* row = dwarf_getsrc_die(&*unit, address);
  int line = 0;
  if (row == nullptr || dwarf_lineno(row, &line) != 0 || line <= 0) return std::nullopt;
  const char* file = dwarf_linesrc(row, nullptr, nullptr);
  if (file == nullptr) return std::nullopt;
  return SourceLine{file, static_cast<uint32_t>(line)};
}

std::string Demangled(const std::string& symbol) {
  if (symbol.rfind("_Z", 0) != 0) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? name.get() : symbol;
}

std::optional<std::string> FunctionAt(const ElfImage& image, uint64_t address) {
  const auto& symbols = image.symbols();
  auto it = std::upper_bound(symbols.begin(), symbols.end(), address,
                             [](uint64_t a, const FunctionSymbol& s) { return a < s.address; });
  // Symbols of one function share its address; a few steps back find the one that has a size.
  for (int i = 0; i < 8 && it != symbols.begin(); ++i) {
    --it;
    if (address - it->address < it->size) return Demangled(std::string(it->name));
  }
  return std::nullopt;
}

}  // namespace wf::elf
