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
  Recipe frame;          // empty: unknown
  // A copy that the compiler made with other parameters than in the source: the calling convention says
  // nothing about it.
  bool altered_copy = false;
};

// For what is read from the program (arguments, locals, retval) and for constants. NotFound: it is not
// available at this address, with the reason. BadInput: it is never available: no such argument, a double in
// a register.
Result<ValueRead> ReadExport(const ExportExpression& expression, const ReadPlace& place);

}  // namespace wf::weaver
