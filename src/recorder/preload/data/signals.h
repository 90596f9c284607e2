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
// Copies the mask in the program's memory without the signals that must get through; returns the address of
// the copy.
uint64_t PassableMask(uint64_t address);
void SyncSignals();
// For kill(2) and similar calls with our process as target: which of its processes gets the signal; 0 if all
// block it and it was kept.
int ReceiverOf(int signal, const siginfo_t* info);
// Called when there is more than one thread.
void WatchOutsideSignals();
// In the first process: passes the signals that the scribe found to their receivers.
void PassOnOutsideSignals();
// For sigtimedwait: removes a kept signal of the set and returns its number; 0 if there is none.
int TakePending(uint64_t set, siginfo_t* info);
// Before a call that waits with this mask: sends kept signals that it allows to this thread.
void DeliverPending(uint64_t mask);
// A handler of the program returns (sigreturn).
void ReturnFromHandler(ucontext_t* context);
// Delivers a fault that the program itself caused.
void DeliverFault(int signal, siginfo_t* info, ucontext_t* context);
void OnSigsys(int signal, siginfo_t* info, void* context);

// While an object of this class exists, no handler of the program runs, because it may make recorded calls.
// The first signal that comes is kept, with all others blocked, and sent again at the end. Blocking them
// beforehand would take two system calls.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
};

}  // namespace wf::recorder::data
