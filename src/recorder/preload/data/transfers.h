// Inputs and outputs of the program, at the system calls that make them.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace wf::recorder::data {

bool IsTransfer(long number);
// Makes the memory of the call accessible to the kernel and passes the call on.
void BeforeTransfer(long number, ucontext_t* context);
// Records what went in or out. Returns the result that the program shall see.
long AfterTransfer(long number, ucontext_t* context, long result, uint64_t called_from);
// A file was mapped: touching its pages reads it.
void OnMapped(uint64_t address, uint64_t length, int protection, int flags, int fd, uint64_t offset,
              uint64_t called_from);
// Whether the policy forbids mapping a file for writing with what the running sub-computation has read.
bool DeniesMapping(int protection, int flags, int fd, uint64_t offset, uint64_t length);
// The two ends of a new socket pair are one stream.
void OnSocketPair(int a, int b);
// Called before the program's memory is taken over, because the kernel cannot read it for us later.
void ReadArguments();
void NoteArguments();
// Finds the address range of the dynamic linker: what it reads is not the program's input.
void FindLoader();

}  // namespace wf::recorder::data
