// Where the other depths of recording enter. The schedule calls these at the edges of sub-computations; a depth that
// is not chosen leaves them null and costs one load and a branch a call.
//
// A depth that must run threads or primitives in its own way replaces entries of `real` (real_functions.h) in its
// `Start`: the wrappers call nothing but those. Records of a depth go into the thread's stream by Append (recording.h).
#pragma once

#include <cstdint>

#include "recorder/preload/region.h"

namespace wf::recorder {

struct DepthHooks {
  // A thread entered a listed call: from here on it runs the recorder's code, and libc's for the recorder. Always before
  // sub_computation_end.
  void (*call_entered)(Slot* slot) = nullptr;
  // The thread entered a listed call: its sub-computation is over. Records appended here (Pages) belong to it. Also
  // called before a call that then turns out to cut nothing; what it appended then adds to what comes later.
  void (*sub_computation_end)(Slot* slot) = nullptr;
  // Between the two: the call that was entered touches nothing of the program's but this object, its stack, its
  // thread-local storage and libc's own variables. Left out for calls of which that cannot be said.
  void (*call_touches)(const volatile void* object) = nullptr;
  // The call returned (or the thread began): the next one starts.
  void (*sub_computation_start)(Slot* slot) = nullptr;
  // In the creator, before the thread exists; and in the new thread, before its first sub-computation.
  void (*thread_create)(Slot* creator, Slot* created) = nullptr;
  void (*thread_begin)(Slot* slot) = nullptr;
  void (*thread_end)(Slot* slot) = nullptr;  // just before ThreadEnd is written
  // In the forking thread before, and in the parent and in the child after.
  void (*fork_prepare)() = nullptr;
  void (*fork_parent)() = nullptr;
  void (*fork_child)() = nullptr;  // before the child's own recording starts
};

extern DepthHooks g_hooks;

// Called once, before main, when the region is there and the program still has one thread. Null or a text that says
// why the depth cannot be recorded here; the program then runs unrecorded and the scribe keeps the reason.
const char* StartDataDepth();
const char* StartControlDepth();

}  // namespace wf::recorder
