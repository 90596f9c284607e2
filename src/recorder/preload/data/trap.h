// Every system call of the program comes here first.
#pragma once

#include <ucontext.h>

namespace wf::recorder::data {

// Turns the dispatch of system calls on in this process.
const char* StartTrap();
// Lets the program make the call itself, by way of a stub.
void PassCall(ucontext_t* context);
// The same for a call that also returns in a child, where nothing is trapped: it never comes back here.
void PassCallOnce(ucontext_t* context);
// The same, and comes back here when the call has returned.
void PassCallAndReturn(ucontext_t* context);

}  // namespace wf::recorder::data
