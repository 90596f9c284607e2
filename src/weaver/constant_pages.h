// A probe cannot wait for a page. Text constants of a program are in pages that are loaded on first access,
// and a woven function may be the first to read them; so they are loaded when a process is woven.
#pragma once

#include <sys/types.h>

namespace wf::weaver {

// Reads a byte of every page of the executable's read-only data, as the process has it mapped. The process's
// memory does not change; pages that are on disk are read. Pages that cannot be read are skipped.
void TouchConstants(pid_t pid);

}  // namespace wf::weaver
