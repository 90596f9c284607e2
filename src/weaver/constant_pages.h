// A probe cannot wait for a page. Text constants of a program lie in pages that are only brought in when somebody first
// reads them, and a woven function may be the first: so they are brought in when a process is woven.
#pragma once

#include <sys/types.h>

namespace wf::weaver {

// Reads a byte of every page of the executable's read-only data, as the process has it mapped. The process's memory does
// not change; pages that are on disk are read. What cannot be read is left.
void TouchConstants(pid_t pid);

}  // namespace wf::weaver
