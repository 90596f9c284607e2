// Addresses of source lines, by the debug information's line table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "elf/elf_image.h"

namespace wf::weaver {

// Where the line begins in every function, or inlined copy of one, that contains it; in order of address. An
// optimiser may have made several copies of a loop's body: then each copy has a beginning, identified by the
// column in the line. `file` is a path or its last parts. NotFound names the nearest lines with code.
Result<std::vector<uint64_t>> FindLine(const elf::ElfImage& image, std::string_view file,
                                       uint32_t line);

}  // namespace wf::weaver
