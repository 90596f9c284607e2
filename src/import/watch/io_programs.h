// The BPF programs that see messages, and the maps they share. Two programs cover all system calls:
//
//   enter  at sys_enter: of a call that sends, the time is kept for its thread
//   leave  at sys_exit: if the call moved bytes over a file descriptor (or made or closed one), it goes into the ring.
//          Its arguments still stand where they were, so nothing else needs keeping
//
// Every system call of every process runs them, so they first skip what is not wanted: other calls, processes
// that are not watched, descriptors known not to be sockets. For a descriptor that the reader knows, a short
// record is enough. They never wait, and when a map is full they count instead. Sends and receives go into a
// ring that is read at intervals; only a new socket wakes the reader, through a second ring.
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

// A record in the ring: complete, or, for a known descriptor, without `name` and what follows it.
struct IoRecord {
  uint64_t time;  // monotonic; the beginning of a send, the end of all others
  uint32_t process, thread;
  int32_t fd;
  IoCall call;
  int64_t bytes;  // sent or received
  char name[16];  // of the thread
  // kConnect, kAccept: the other end's address as in sockaddr, zero if the caller did not ask for it. Else
  // the first bytes that were moved.
  uint8_t prefix[kIoPrefix];
};
static_assert(sizeof(IoRecord) == 80);
constexpr size_t kShortIoRecord = offsetof(IoRecord, name);

struct IoCounters {
  uint64_t dropped_ring_full = 0, dropped_table_full = 0;
  // Sends reported with the time of their end: two threads shared a slot in the table.
  uint64_t late_sends = 0;
};

struct IoMaps {
  static Result<IoMaps> Create();
  IoCounters Counters() const;
  void IgnoreProcess(uint32_t process) const;
  void WantProcess(uint32_t process) const;
  // Both hold until the descriptor is closed.
  void IgnoreDescriptor(uint32_t process, int fd) const;
  void KnowDescriptor(uint32_t process, int fd) const;

  bpf::BpfMap processes, descriptors, sends, ring, opened, counters;
};

struct IoProgramSettings {
  // How unlisted processes are treated: a filter by number watches the listed ones only.
  enum class Unknown { kWatched, kIgnored } unknown = Unknown::kWatched;
  // The namespace of our own process, so that process numbers are reported as we see them. 0: we see all, and
  // use the kernel's numbers.
  uint64_t pid_namespace_device = 0, pid_namespace_inode = 0;
};

std::vector<bpf_insn> EnterProgram(const IoMaps& maps, const IoProgramSettings& settings);
std::vector<bpf_insn> LeaveProgram(const IoMaps& maps, const IoProgramSettings& settings);

}  // namespace wf::watch
