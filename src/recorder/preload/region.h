// The memory that the recorded program and its scribe share: one slot per running thread, each with a ring of records
// that the thread fills and the scribe empties.
//
// Rules. Only its thread writes a slot's ring, and only the scribe reads it: they share just `head` and
// `tail`, so recording takes no lock. A killed program leaves complete records below `head`, and the call it
// was blocked in as `pending`; the scribe, which is another process, then writes the rest.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/format/records.h"

namespace wf::recorder {

// A cut is 64 bytes, so a ring holds 16,000 of them: 16 ms of a thread that makes a million calls a second.
// The thread wakes the scribe whenever half of the ring is full. Pages that were never written cost nothing.
constexpr uint64_t kRingSize = 1 << 20;
constexpr uint32_t kSlots = 4096;  // threads at one time; more are counted as lost
constexpr uint32_t kMaxActions = 4;
constexpr uint32_t kKnownModules = 1024;

enum SlotState : uint32_t { kSlotFree = 0, kSlotUsed = 1, kSlotEnded = 2 };

// The call that the thread is in. It is valid only while `at_head` is the slot's head: then nothing was
// written since, so that the end of the call needs no second store.
struct Pending {
  std::atomic<uint64_t> at_head;
  Op op;
  std::atomic<uint16_t> actions;
  uint32_t object;
  uint64_t end_ns;
  uint64_t site;
  Action action[kMaxActions];
  // Number of its actions already written, with a call that a signal handler made meanwhile.
  uint32_t taken;
};

// Records of calls that a signal handler made while its thread was writing one.
struct Deferred {
  std::atomic<uint32_t> size;
  std::atomic<uint32_t> flushing;
  uint8_t bytes[16384];
};

using ThreadRoutine = void* (*)(void*);
using C11Routine = int (*)(void*);

struct alignas(64) Slot {
  // Written by the thread.
  std::atomic<uint64_t> head;  // bytes ever written
  uint64_t room_end;           // head may grow up to this before the tail must be read
  uint8_t* ring;
  // For signal handlers: set while the ring is written, and from drawing a sequence number until its record
  // is written. Records of handlers are deferred meanwhile, so that records are in the order in which their
  // numbers were drawn.
  std::atomic<uint32_t> writing;
  std::atomic<uint32_t> holding;
  std::atomic<uint32_t> state;  // SlotState
  uint32_t thread;
  uint32_t parent;
  uint32_t object;  // of the thread
  uint32_t tid;
  uint64_t last_start_ns;  // when the running sub-computation began
  std::atomic<uint64_t> lost;
  uint64_t module_begin, module_end;  // of the last call site, to recognise new modules
  std::atomic<uint32_t> registered;   // the thread runs, and join finds it
  uint32_t index;                     // of the running sub-computation
  // What the new thread will run.
  union {
    ThreadRoutine routine;
    C11Routine c11_routine;
  };
  void* argument;
  uint64_t signals;  // its signal mask, if it was created with all of them blocked
  uint32_t restore_signals;
  uint32_t unused_too;
  uint64_t depth_data;                // for the depths' own use (depth_hooks.h)
  std::atomic<uint32_t> open_record;  // 1: after `head` is a record that may still grow (ring.h)
  alignas(64) Pending pending;
  Deferred deferred;
  alignas(64) std::atomic<uint64_t> tail;  // written by the scribe: bytes ever read
};

enum ExitState : uint32_t { kRunning = 0, kExiting = 1 };

struct Region {
  uint64_t started_ns;
  uint32_t pid;
  uint32_t depth;
  uint32_t generation;               // of the file, when this recording began
  std::atomic<uint32_t> threads;     // next number
  std::atomic<uint32_t> objects;     // next id
  uint32_t slots_total;              // at most kSlots; fewer where address space is limited
  std::atomic<uint32_t> slots_used;  // no slot at or above this was ever used
  std::atomic<uint32_t> kick;        // futex: the scribe sleeps on it
  std::atomic<uint32_t> scribe_sleeps;
  std::atomic<uint32_t> drained;  // futex: threads with a full ring sleep on it
  std::atomic<uint32_t> waiters;
  std::atomic<uint32_t> broken;  // writing has failed for good; errno
  std::atomic<uint32_t> scribe;  // its pid; 0 before it runs
  // How the process ended.
  std::atomic<uint32_t> exit_state;
  std::atomic<uint32_t> exit_thread;  // kNoThread: unknown
  std::atomic<uint64_t> exit_ns;
  std::atomic<uint64_t> exit_site;
  // Executable mappings that the scribe has seen, and requests to look again (LearnModules).
  std::atomic<uint32_t> modules_wanted, modules_seen;  // the latter is a futex
  std::atomic<uint32_t> modules;
  struct {
    uint64_t begin, end;
  } module[kKnownModules];
  // Snapshots that the program requested, and how many have been taken (wherefore_snapshot).
  std::atomic<uint32_t> snapshots_wanted, snapshots_served;  // the latter is a futex
  std::atomic<uint32_t> last_snapshot;  // its number; 0: no snapshot could be taken
  uint32_t file_slots;                  // 0: the file grows
  uint64_t snapshot_every_ns;           // 0: only on request
  // The thread that signals from outside reach, 0 while it is the only one; what the control signal carries;
  // what was found (outside_signals.h).
  std::atomic<uint32_t> signals_of;
  std::atomic<uint64_t> signals_word, signals_waiting;
  char file[4096];
  // Losses besides the records that slots count.
  std::atomic<uint64_t> lost_threads, lost_objects, lost_records, lost_in_handlers;
  alignas(64) std::atomic<uint64_t> free_slots[kSlots / 64];
  Slot slots[kSlots];
  // The rings follow.
};

constexpr uint64_t kRingsOffset = (sizeof(Region) + 4095) / 4096 * 4096;
constexpr uint64_t RegionSize(uint32_t slots) { return kRingsOffset + slots * kRingSize; }

inline uint8_t* RingOf(Region* region, uint32_t slot) {
  return reinterpret_cast<uint8_t*>(region) + kRingsOffset + slot * kRingSize;
}

}  // namespace wf::recorder
