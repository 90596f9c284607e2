// From an export's expression to the steps that read it at one place.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "elf/elf_image.h"
#include "weaver/dwarf_function.h"
#include "weaver/probe_site.h"
#include "weaver/tracepoint_file.h"

namespace wf::weaver {

enum class ReadAt : uint8_t { kEntry, kReturn, kLine };

struct ReadPlace {
  const elf::ElfImage& image;
  const DwarfFunction* function = nullptr;  // null: no debug information
  ReadAt at = ReadAt::kEntry;
  uint64_t address = 0;
  uint32_t written = 0;  // kEntry: registers written since the function's first instruction
  Recipe frame;          // empty: not known
  // A copy that the compiler made with other parameters than the source has: the calling convention says nothing.
  bool altered_copy = false;
};

// Of what is read from the program (arguments, locals, retval) and of constants. NotFound: it is not to be had at this
// address, and why. BadInput: it never is: no such argument, a double in a register.
Result<ValueRead> ReadExport(const ExportExpression& expression, const ReadPlace& place);

}  // namespace wf::weaver
