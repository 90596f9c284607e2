// eBPF code that passes events to processes that link libwherefore: the record goes into memory that the
// thread's process has mapped (advice/handed_events.h), into the ring of that thread.
//
// Thread safety: none. The code lives no longer than the assembler.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "bpf/assembler.h"
#include "bpf/bpf_object.h"

namespace wf::weaver {

// Members of the kernel's structures: a task, its number, and its numbers in the enclosing namespaces.
struct TaskOffsets {
  int32_t number = 0, level = 0, numbers = 0;
};
Result<TaskOffsets> FindTaskOffsets();

struct LinkedMaps {
  bpf::BpfMap processes;  // process (in our namespace) → its array of HandedThread
  TaskOffsets offsets;
  uint32_t record_bytes = 0;                                   // size of a record, a power of two
  uint64_t pid_namespace_device = 0, pid_namespace_inode = 0;  // 0: the machine's own

  uint32_t records() const;  // of a thread's ring, a power of two
};

// What happens to an event without room, depending on what its tuples are kept for.
enum class WhenFull : uint8_t {
  kLost,         // counted
  kDropped,      // First: the earlier events stay
  kReplacesLast  // MostRecent, of one event: the last one at this place is no longer needed
};

class HandOverCode {
 public:
  // Slots in the program's frame that it may overwrite; `process` already holds the process.
  struct Frame {
    int16_t read;     // eight bytes
    int16_t thread;   // eight bytes
    int16_t index;    // four bytes
    int16_t process;  // eight bytes
  };
  HandOverCode(bpf::BpfAssembler& a, const LinkedMaps& maps, const Frame& frame)
      : a_(a), maps_(maps), frame_(frame) {}

  // `record` (r7) and r6 are kept, all other registers are lost. Continues after it in any case.
  void Write(bpf::BpfReg record, uint32_t bytes, uint32_t place, WhenFull when_full);
  // The thread ends: its place becomes free.
  void Release();

 private:
  enum class Unknown : uint8_t { kClaims, kIsNobody };

  // r9 becomes the HandedThread of this thread; r8 is lost.
  void FindThread(Unknown unknown, bpf::BpfAssembler::Label otherwise);
  void FindMap(bpf::BpfAssembler::Label otherwise);
  void ReadThread(bpf::BpfAssembler::Label otherwise);
  void ReadKernel(int16_t to, int32_t bytes, bpf::BpfAssembler::Label otherwise);  // from r3
  void LookAt(uint32_t attempt, bpf::BpfAssembler::Label otherwise);
  // r2 becomes the address of record number r1.
  void RecordAddress();
  void Address(bpf::BpfReg to, int16_t place);

  bpf::BpfAssembler& a_;
  const LinkedMaps& maps_;
  const Frame frame_;
};

}  // namespace wf::weaver
