// The entry points of the other depths of recording. The schedule calls these at the borders of
// sub-computations; a depth that is not chosen leaves them null, which costs one load and a branch per call.
//
// A depth that must run threads or primitives in its own way replaces entries of `real` (real_functions.h) in
// its `Start`: the wrappers call only those. A depth writes records into the thread's stream with Append
// (recording.h).
#pragma once

#include <cstdint>

#include "recorder/preload/region.h"

namespace wf::recorder {

struct DepthHooks {
  // A thread entered a listed call: from here on it runs the recorder's code, and libc's on behalf of the
  // recorder. Always called before sub_computation_end.
  void (*call_entered)(Slot* slot) = nullptr;
  // The thread entered a listed call: its sub-computation is over. Records appended here (Pages) belong to
  // it. Also called before a call that turns out to cut nothing; then its records are added to those that
  // come later.
  void (*sub_computation_end)(Slot* slot) = nullptr;
  // Called between the two: of the program's memory, the entered call touches only this object, its stack,
  // its thread-local storage and libc's own variables. Not called where this is not certain.
  void (*call_touches)(const volatile void* object) = nullptr;
  // The call returned (or the thread began): the next sub-computation starts.
  void (*sub_computation_start)(Slot* slot) = nullptr;
  // In the creator, before the thread exists; and in the new thread, before its first sub-computation.
  void (*thread_create)(Slot* creator, Slot* created) = nullptr;
  void (*thread_begin)(Slot* slot) = nullptr;
  void (*thread_end)(Slot* slot) = nullptr;  // just before ThreadEnd is written
  // In the forking thread before the fork, and in the parent and the child after it.
  void (*fork_prepare)() = nullptr;
  void (*fork_parent)() = nullptr;
  void (*fork_child)() = nullptr;  // before the child's own recording starts
};

extern DepthHooks g_hooks;

// Called once, before main, when the region exists and the program still has one thread. Returns null, or a
// text that says why the depth cannot be recorded here; then the program runs unrecorded and the scribe keeps
// the reason.
const char* StartDataDepth();
const char* StartControlDepth();

}  // namespace wf::recorder
