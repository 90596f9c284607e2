// Threads that are processes: how they begin, how they end, and how the program ends.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace wf::recorder::data {

// A clone call of the program, in the handler of SIGSYS.
void CloneCall(ucontext_t* context, uint64_t flags, uint64_t stack_top, uint64_t parent_tid,
               uint64_t child_tid, uint64_t tls);
// Clone or clone3 with CLONE_VFORK | CLONE_VM: shares memory until exec.
void SpawnCall(ucontext_t* context);
void Clone3Call(ucontext_t* context);
void ForkCall(ucontext_t* context, uint64_t flags, uint64_t parent_tid, uint64_t child_tid);
[[noreturn]] void EndThread();
[[noreturn]] void EndProcess(int status);
[[noreturn]] void DieBySignal(int signal);
// Another process of the program sent the control signal: collect ended processes, or end.
void OnControl();
bool IsThread(int tid);
// Makes every other process of the program look at `shared`.
void TellOthers();
void KillOthers();
// Sets the name of a thread, which only that thread itself can do.
long NameThread(int tid, const char* name, uint64_t length);
void SendControl(int pid);

// What the recorder does at these moments, in the handler of a signal; may be null.
struct ThreadHooks {
  void (*write_pages)();    // the tracker has too many runs: writes out what it has
  bool (*refuse_thread)();  // in the creator
  // In each process when the program ends: for the sub-computation that no call will end.
  void (*last_pages)();
  void (*crashed)(int signal, uint64_t address, uint64_t site);  // before a fault ends the program
};

extern ThreadHooks hooks;

}  // namespace wf::recorder::data
