// The BPF programs that see messages, and the maps they share. Two programs do for all system calls:
//
//   enter  at sys_enter: of a call that sends, the time is kept for its thread
//   leave  at sys_exit: if the call moved bytes over a file descriptor (or made or closed one), it goes into the ring.
//          Its arguments still stand where they were, so nothing else needs keeping
//
// Every system call of every process passes them, so the first thing they do is to let go what is not wanted: other
// calls, processes that are not watched, descriptors known to be no sockets. Of a descriptor that the reader knows a
// short record is enough. They never wait, and when a map is full they count instead. What is sent and received goes
// into a ring that is read at intervals; only a socket that is made wakes the reader, by a ring of its own.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "bpf/bpf_object.h"

namespace wf::watch {

enum class IoCall : uint32_t { kSend, kReceive, kConnect, kAccept, kClose, kUring };

constexpr size_t kIoPrefix = 32;

// As a program writes it into the ring: whole, or of a known descriptor without what begins with `name`.
struct IoRecord {
  uint64_t time;  // monotonic; of a send its beginning, of all others their end
  uint32_t process, thread;
  int32_t fd;
  IoCall call;
  int64_t bytes;  // sent or received
  char name[16];  // of the thread
  // kConnect, kAccept: the other end's address as in sockaddr, zero where the caller did not want it. Else how the
  // first bytes moved look.
  uint8_t prefix[kIoPrefix];
};
static_assert(sizeof(IoRecord) == 80);
constexpr size_t kShortIoRecord = offsetof(IoRecord, name);

struct IoCounters {
  uint64_t dropped_ring_full = 0, dropped_table_full = 0;
  uint64_t late_sends =
      0;  // told with the time of their end: two threads shared a place in the table
};

struct IoMaps {
  static Result<IoMaps> Create();
  IoCounters Counters() const;
  void IgnoreProcess(uint32_t process) const;
  void WantProcess(uint32_t process) const;
  // Both until it is closed.
  void IgnoreDescriptor(uint32_t process, int fd) const;
  void KnowDescriptor(uint32_t process, int fd) const;

  bpf::BpfMap processes, descriptors, sends, ring, opened, counters;
};

struct IoProgramSettings {
  // Processes that nothing was said of: those of a filter by number are the only ones.
  enum class Unknown { kWatched, kIgnored } unknown = Unknown::kWatched;
  // Of our own process: processes are told as we see them. 0: we see all, the kernel's own numbers are ours.
  uint64_t pid_namespace_device = 0, pid_namespace_inode = 0;
};

std::vector<bpf_insn> EnterProgram(const IoMaps& maps, const IoProgramSettings& settings);
std::vector<bpf_insn> LeaveProgram(const IoMaps& maps, const IoProgramSettings& settings);

}  // namespace wf::watch
