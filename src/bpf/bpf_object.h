// Maps, programs and the ring buffer between them and us. libbpf does the system calls.
//
// Errors contain the kernel's reason and what is needed: BPF requires root, or CAP_BPF with CAP_PERFMON (and
// CAP_NET_ADMIN for packets). Thread safety: distinct objects from distinct threads; the kernel's side is
// safe anyway.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"

struct ring_buffer;

namespace wf::bpf {

// "WHAT: REASON", and the next step for this errno.
Error BpfError(std::string_view what, int code);

// kCpu…: every processor has its own values. kRecentHash drops the least recently used entry when it is full.
// Any process with the descriptor of a kMappedArray can map it into memory. kHashOfMaps: its values are maps.
enum class BpfMapType : uint8_t {
  kHash,
  kArray,
  kRing,
  kCpuHash,
  kCpuArray,
  kRecentHash,
  kMappedArray,
  kHashOfMaps,
};

class BpfMap {
 public:
  struct Shape {
    BpfMapType type = BpfMapType::kHash;
    uint32_t key_bytes = 0, value_bytes = 0;
    uint32_t entries = 0;  // kRing: bytes, a power of two and a multiple of the page size
  };
  static Result<BpfMap> Create(const char* name, const Shape& shape);
  // A map of maps that all have the shape of `like`; Put takes the descriptor of one.
  static Result<BpfMap> CreateOfMaps(const char* name, uint32_t key_bytes, uint32_t entries,
                                     const BpfMap& like);

  int fd() const { return fd_.get(); }
  const Shape& shape() const { return shape_; }
  // The size of one value in the calls below: for kCpu…, one value per processor, in multiples of eight
  // bytes.
  size_t value_size() const;
  // False if the key is missing. The buffers have the sizes of the shape.
  bool Lookup(const void* key, void* value) const;
  // `key` becomes the key after `after`, or the first one for a null `after`. False at the end.
  bool NextKey(const void* after, void* key) const;
  // False if the map is full, or if there is nothing to erase.
  bool Put(const void* key, const void* value) const;
  bool Erase(const void* key) const;

 private:
  static Result<BpfMap> Create(const char* name, const Shape& shape, int inner);

  FileDescriptor fd_;
  Shape shape_;
};

// Whether this kernel attaches many uprobes at once; programs must be loaded for it.
bool HasUprobeMulti();
constexpr uint32_t kUprobeMultiAttachType = 48;  // BPF_TRACE_UPROBE_MULTI, of Linux 6.6

// Returns when every program that was running at the call has ended, so that everything it wrote is visible.
// Programs at uprobes and tracepoints run in the kernel's read sections; this takes some ten milliseconds.
Status WaitForRunningPrograms();

// The number of processors that per-processor values have.
size_t BpfCpus();

// kTracepoint and kReadingProbe read memory of the kernel and of processes, which the kernel allows only to
// programs under a licence that is compatible with its own: ours are under BSD or MIT or GPL, at the user's
// choice (docs/decisions/0008). kProbe and kReadingProbe are attached to uprobes: many at once where the
// kernel supports it, unless the type says one by one.
enum class BpfProgramType : uint8_t {
  kProbe,
  kPacket,
  kTracepoint,
  kReadingProbe,
  kReadingProbeOneByOne
};

class BpfProgram {
 public:
  // The error contains the objections of the verifier.
  static Result<BpfProgram> Load(const char* name, BpfProgramType type,
                                 const std::vector<bpf_insn>& text);
  int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

// Reads what programs put into a ring map, in order. One thread.
class BpfRingReader {
 public:
  using Take = std::function<void(std::string_view record)>;
  static Result<BpfRingReader> Open(const BpfMap& ring, Take take);
  ~BpfRingReader();
  BpfRingReader(BpfRingReader&&) noexcept;
  BpfRingReader& operator=(BpfRingReader&&) = delete;

  // Reads what is there; if there is nothing, waits up to `milliseconds`, or until the programs wake us
  // (bpf/ring_submit.h). Returns the number of records. Reads what was in the ring at the call, but at most
  // one ringful: programs that fill it faster than it is read would otherwise keep us here forever, and
  // Ctrl-C would have no effect.
  Result<int> Poll(int milliseconds);

 private:
  struct Reading {
    Take take;
    size_t ring_bytes = 0;
    size_t bytes = 0;  // read by this call of Poll
    int records = 0;
  };
  BpfRingReader() = default;
  std::unique_ptr<Reading> reading_;  // its address stays the same, because libbpf keeps it
  ring_buffer* ring_ = nullptr;
};

}  // namespace wf::bpf
