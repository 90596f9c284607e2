// Addresses of source lines, by the debug information's line table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weaver/elf_image.h"

namespace wf::weaver {

// The first address of the line in every function, or inlined copy of one, that has it; in order of address. `file` is a
// path or its last parts. NotFound names the nearest lines with code.
Result<std::vector<uint64_t>> FindLine(const ElfImage& image, std::string_view file, uint32_t line);

}  // namespace wf::weaver
