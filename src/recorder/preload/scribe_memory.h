// The scribe begins as a copy of the program. It frees at once what it does not need: otherwise every page
// that the program writes would be copied, and its memory held twice.
#pragma once

#include <cstddef>

namespace wf::recorder {

// Unmaps everything but this library, libc and the dynamic linker, the stack and the thread's own memory, and `kept`.
void DropProgramMemory(const void* const kept[], size_t count);

}  // namespace wf::recorder
