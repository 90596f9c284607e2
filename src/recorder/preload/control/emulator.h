// The emulator that the program may run in, and its plugin (src/recorder/qemu). They are spoken to by system calls that
// Linux does not have: format/branches.h.
#pragma once

#include "recorder/format/branches.h"
#include "recorder/preload/raw_calls.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

inline long Mark(MarkerOp op, long a = 0, long b = 0, long c = 0) {
  return RawCall(kMarkerCall, op, a, b, c);
}

// Where this library's own code stands.
void OwnCode(uint64_t& begin, uint64_t& end);

// Whether the plugin is there. Asked once in each process, before anything else is said to the plugin.
bool AskEmulator();
bool UnderEmulator();

// Work of the recorder in the middle of a sub-computation that calls libc: neither its branches nor its pages are the
// program's.
class OwnWork {
 public:
  OwnWork() {
    if (UnderEmulator()) Mark(kMarkSuspend);
  }
  ~OwnWork() {
    if (UnderEmulator()) Mark(kMarkResume);
  }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;
};

struct SharedHead;
struct BranchRings;

// What kMarkScribe points to: the plugin starts the scribe outside of the emulated program.
struct ScribeOrder {
  Region* region;
  SharedHead* head;
  BranchRings* branches;
  int file;
  uint32_t started;  // the answer: 1
};

}  // namespace wf::recorder
