// The emulator that the program may run in, and its plugin (src/recorder/qemu). The library calls them by
// system calls that Linux does not have: format/branches.h.
#pragma once

#include "recorder/format/branches.h"
#include "recorder/preload/raw_calls.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

inline long Mark(MarkerOp op, long a = 0, long b = 0, long c = 0) {
  return RawCall(kMarkerCall, op, a, b, c);
}

// The address range of this library's own code.
void OwnCode(uint64_t& begin, uint64_t& end);

// Whether the plugin is there. Checked once in each process, before any other call to the plugin.
bool AskEmulator();
bool UnderEmulator();

// Work of the recorder that calls libc in the middle of a sub-computation: neither its branches nor its pages
// belong to the program.
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
