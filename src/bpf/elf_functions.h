// Where the functions of an ELF file begin, for probes. Reads the dynamic symbols, which every shared library has, and
// the full ones where they were not stripped.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::bpf {

struct ElfFunction {
  uint32_t name = 0;    // index in the requested names
  uint64_t offset = 0;  // in the file
};

// 64-bit little-endian ELF. A name that occurs in several versions (name@V1, name@@V2) has several places;
// each place is reported once. Functions chosen at run time (IFUNC) have no place and are left out. In order
// of name, then offset.
Result<std::vector<ElfFunction>> FindElfFunctions(std::string_view file,
                                                  const std::vector<std::string_view>& names);

// How much memory the file's segments take once loaded, from the lowest address to the highest, zeroed data
// included. `file` is the beginning of the file, which contains this; 0 if it does not.
uint64_t ElfMemoryBytes(std::string_view file);

}  // namespace wf::bpf
