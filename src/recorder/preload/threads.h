// Threads and their slots: which threads run, under which number, and where each writes.
#pragma once

#include "recorder/preload/recording.h"

namespace wf::recorder {

// A slot for a new thread with this number, or null if there is none (counted).
Slot* TakeSlot(uint32_t thread, uint32_t parent);
// Returns a slot that was taken for a thread that was never created.
void ReturnSlot(Slot* slot);

uint32_t DrawThreadNumber();
// The creating call failed: its number is reused if no other thread was created in between.
void ReturnThreadNumber(uint32_t number);

// The thread as an object: its creation, its end and its join are actions of it. The sequence is their only
// possible order.
enum ThreadSequence : uint64_t { kCreated = 1, kBegun = 2, kEnded = 3, kJoined = 4 };
uint32_t DrawObjectId();
void NameThread(Slot* slot, uint32_t thread, uint32_t object);

// Called in the thread itself, before it runs any code of the program.
void BeginThread(Slot* slot);
// At init: makes the key whose destructor writes the end of a thread, as the last of its destructors.
void MakeEndKey();

// The thread of a pthread_t: 0 if it is not recorded, else its object and number.
struct ThreadRef {
  uint32_t object = 0;
  uint32_t thread = 0;
  bool known = false;
};
void RegisterThread(pthread_t handle, uint32_t thread, uint32_t object);
// In the creator, when the call has returned: the thread may not have begun yet.
void RegisterCreated(pthread_t handle, const Slot* slot, uint32_t thread, uint32_t object);
ThreadRef FindThread(pthread_t handle);

// A new thread, or a new recording, has not seen any pthread_once yet (once_calls.cc).
void ForgetOnce();

void NoteThreadName(Slot* slot, uint32_t thread, const char* name);

}  // namespace wf::recorder
