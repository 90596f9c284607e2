// Where an unwinder resumes the program it unwinds: the only places that see an exception leave a function
// without cleanup code.
//
// libgcc's _Unwind_RaiseException, _Unwind_Resume, _Unwind_Resume_or_Rethrow and _Unwind_ForcedUnwind end by
// setting the stack pointer of the frame that continues and jumping there ("mov rsp, rcx; pop rcx; jmp rcx");
// LLVM's libunwind does it in a separate function. Their ordinary `ret`s are probed too: there the new stack
// pointer is that of their caller, which is below every open activation, so nothing ends.
//
// An unwinder that is linked into a program without symbols (-static-libgcc, stripped) is recognised by this
// sequence: no other code loads its stack pointer from rcx and jumps to what it pops.
#pragma once

#include <vector>

#include "elf/elf_image.h"
#include "weaver/probe_site.h"

namespace wf::weaver {

// The kUnwinder sites of one file, by address; empty if it contains no unwinder.
std::vector<ProbeSite> FindUnwinderSites(const elf::ElfImage& image);
// Whether a library with this path is likely to contain one.
bool MayHoldUnwinder(std::string_view path);

}  // namespace wf::weaver
