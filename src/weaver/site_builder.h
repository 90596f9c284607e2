// Finds the probe sites of a function or a line.
#pragma once

#include <vector>

#include "base/result.h"
#include "elf/elf_image.h"
#include "weaver/function_search.h"
#include "weaver/probe_site.h"
#include "weaver/tracepoint_file.h"

namespace wf::weaver {

// Sites, notes and name of one function. BadInput: an export can never be read in it.
Result<LocatedFunction> BuildFunction(const elf::ElfImage& image, const FoundFunction& found, At at,
                                      const std::vector<Export>& exports);
Result<LocatedFunction> BuildLine(const elf::ElfImage& image, uint64_t address,
                                  const std::vector<Export>& exports);
// The values of exports where an exception ends an activation.
std::vector<ValueRead> ValuesOfUnwinding(const std::vector<Export>& exports);

}  // namespace wf::weaver
