// Signal actions and masks of a program whose threads are processes.
#pragma once

#include <ucontext.h>

#include <csignal>
#include <cstdint>

namespace wf::recorder::data {

const char* StartSignals();
long SigactionCall(int signal, const void* action, void* old, uint64_t size);
void SigprocmaskCall(ucontext_t* context);
long SigaltstackCall(const void* stack, void* old);
// The mask in the program's memory without the signals that must get through; the address of the copy.
uint64_t PassableMask(uint64_t address);
void SyncSignals();
// kill(2) and its kin with our process as target: which of its processes gets it; 0 if all block it and it was kept.
int ReceiverOf(int signal, const siginfo_t* info);
// There is more than one thread.
void WatchOutsideSignals();
// In the first process: those that the scribe found go to whom they are for.
void PassOnOutsideSignals();
// sigtimedwait: the number of a kept signal of the set, which is then no longer kept; 0 if there is none.
int TakePending(uint64_t set, siginfo_t* info);
// Before a call that waits with this mask: kept signals that it lets through are sent to this thread.
void DeliverPending(uint64_t mask);
// sigreturn of a handler of the program.
void ReturnFromHandler(ucontext_t* context);
// A fault that is the program's own.
void DeliverFault(int signal, siginfo_t* info, ucontext_t* context);
void OnSigsys(int signal, siginfo_t* info, void* context);

// While one lives, no handler of the program runs, for it may make recorded calls: the first signal that comes is kept,
// with all others blocked behind it, and sent again at the end. Blocking them beforehand would take two system calls.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
};

}  // namespace wf::recorder::data
