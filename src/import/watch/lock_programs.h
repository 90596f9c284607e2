// The BPF programs of the lock probe, and the maps they share. Four programs cover all functions:
//
//   ask       at the entry of a lock function: this thread wants the lock in its first argument, since now
//   got       at its return: if it was given the lock, it holds it since now
//   release   at the entry of an unlock function: the holding is over and goes into the ring
//   condition at the entry of a wait on a condition: the same for the mutex in the second argument, which the thread
//             will hold again when the wait returns. That moment is not probed: threads may be cancelled in there
//             (bpf/uprobe.h), so the holding that follows has no known beginning.
//
// They never wait, and when a map is full they count instead.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "bpf/bpf_object.h"
#include "import/watch/lock_holding.h"

namespace wf::watch {

// As a program writes it into the ring.
struct LockRecord {
  uint64_t address, requested, acquired, released;
  uint32_t thread;
  uint32_t mode;  // LockMode, and kAfterCondition
};
constexpr uint32_t kAfterCondition = 0x100;

struct LockMaps {
  static Result<LockMaps> Create();
  // Holds that have begun and not ended.
  std::vector<LockHolding> Unfinished() const;
  LockProbeCounters Counters() const;

  bpf::BpfMap asking, held, ring, counters;
};

// Settings that are fixed when the programs are loaded.
struct LockProgramSettings {
  Nanos at_least = 0;  // min of wait and hold together; shorter ones are only counted
  // Of the process: threads are numbered as it sees them.
  uint64_t pid_namespace_device = 0, pid_namespace_inode = 0;
};

std::vector<bpf_insn> AskProgram(const LockMaps& maps, const LockProgramSettings& settings,
                                 LockMode mode);
std::vector<bpf_insn> GotProgram(const LockMaps& maps, const LockProgramSettings& settings);
std::vector<bpf_insn> ReleaseProgram(const LockMaps& maps, const LockProgramSettings& settings);
std::vector<bpf_insn> ConditionProgram(const LockMaps& maps, const LockProgramSettings& settings);

LockHolding HoldingOf(const LockRecord& record);

}  // namespace wf::watch
