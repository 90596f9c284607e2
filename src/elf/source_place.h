// What a person calls an address of a program: the function, the file and the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "elf/elf_image.h"

namespace wf::elf {

struct SourceLine {
  std::string file;
  uint32_t line = 0;
};
// By the line table. None: no debug information about it.
std::optional<SourceLine> LineAt(const ElfImage& image, uint64_t address);

// Demangled. None: no symbol covers the address.
std::optional<std::string> FunctionAt(const ElfImage& image, uint64_t address);
// A symbol as in the source, or as it is if it is not mangled.
std::string Demangled(const std::string& symbol);

}  // namespace wf::elf
