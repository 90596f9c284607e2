// The functions of one file that a location names.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "elf/elf_image.h"
#include "weaver/function_name.h"
#include "weaver/tracepoint_file.h"

namespace wf::weaver {

struct FoundFunction {
  elf::FunctionSymbol symbol;
  FunctionName name;
  bool altered_copy = false;  // the compiler may have changed its parameters
};

struct FoundFunctions {
  std::vector<FoundFunction> functions;  // by address, without duplicates
  std::vector<std::string> notes;
};

// NotFound if there is none; the error says whether all its calls were inlined, or lists similar names.
Result<FoundFunctions> FindFunctions(const elf::ElfImage& image, const Location& location);

}  // namespace wf::weaver
