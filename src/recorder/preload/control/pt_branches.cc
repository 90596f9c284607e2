#include "recorder/preload/control/pt_branches.h"

#include <cpuid.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cstring>

#include "recorder/format/branches.h"
#include "recorder/preload/control/branch_rings.h"
#include "recorder/preload/control/emulator.h"
#include "recorder/preload/raw_calls.h"
#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace {

#define WF_PT_DEVICE "/sys/bus/event_source/devices/intel_pt/"

constexpr uint64_t kPage = 4096;
constexpr uint64_t kDataBytes = 16 * kPage;        // of perf's own records; a power of two
constexpr uint64_t kAuxBytes = uint64_t{4} << 20;  // of packets; the slot size of the paper's ring

struct Capability {
  uint32_t type = 0;
  uint64_t config = 0;
  PtMode mode = PtMode::kFullTrace;
  PtFacts facts{};
};
Capability g_pt;

// A thread's event.
struct PtThread {
  int file = -1;
  perf_event_mmap_page* page = nullptr;
  uint8_t* aux = nullptr;
  bool open = false;
  uint64_t running = 0;  // index plus 1
  BranchRingWriter out;
};
thread_local PtThread t_pt;

// The number at the beginning of a file of sysfs, or behind ':' as in "config:13"; -1 if there is none.
long ReadNumber(const char* path, bool behind_colon) {
  const long file = RawCall(SYS_openat, AT_FDCWD, Arg(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[64] = {};
  const long size = RawCall(SYS_read, file, Arg(text), sizeof(text) - 1);
  RawCall(SYS_close, file);
  const char* at = text;
  if (size > 0 && behind_colon)
    at = std::strchr(text, ':') == nullptr ? text + size : std::strchr(text, ':') + 1;
  if (size <= 0 || *at < '0' || *at > '9') return -1;
  long value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + (*at - '0');
  return value;
}

void SetBit(const char* format_file) {
  const long bit = ReadNumber(format_file, true);
  if (bit >= 0 && bit < 64) g_pt.config |= uint64_t{1} << bit;
}

void ReadProcessor() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) {
    g_pt.facts.stepping = a & 0xF;
    g_pt.facts.model = static_cast<uint8_t>(((a >> 4) & 0xF) | ((a >> 12) & 0xF0));
    const uint32_t family = (a >> 8) & 0xF;
    g_pt.facts.family = static_cast<uint16_t>(family == 0xF ? family + ((a >> 20) & 0xFF) : family);
  }
  if (__get_cpuid(0x15, &a, &b, &c, &d) != 0) {
    g_pt.facts.cpuid_15_eax = a;
    g_pt.facts.cpuid_15_ebx = b;
  }
  OwnCode(g_pt.facts.own_begin, g_pt.facts.own_end);
}

long OpenEvent() {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = g_pt.type;
  attr.config = g_pt.config;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.watermark = 1;
  return RawCall(SYS_perf_event_open, Arg(&attr), 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

// --- What goes into the stream

void PutFacts() {
  t_pt.out.Put([](uint8_t* out) {
    out = PutVarint(out, kPtFacts);
    std::memcpy(out, &g_pt.facts, sizeof(g_pt.facts));
    return out + sizeof(g_pt.facts);
  });
}

void PutGap(PtGapReason reason) {
  const bool told = t_pt.out.Put([reason](uint8_t* out) {
    out = PutVarint(PutVarint(out, kPtGap), 1);
    return PutVarint(out, static_cast<uint64_t>(reason));
  });
  if (!told) t_pt.out.CountLost();
}

bool PutPacketBytes(const uint8_t* bytes, uint64_t size) {
  constexpr uint64_t kPiece = BranchRingWriter::kLongestOperation - 2 * kMaxVarint;
  while (size != 0) {
    const uint64_t step = size < kPiece ? size : kPiece;
    const bool done = t_pt.out.Put([&](uint8_t* out) {
      out = PutVarint(PutVarint(out, kPtBytes), step);
      std::memcpy(out, bytes, step);
      return out + step;
    });
    if (!done) {
      t_pt.out.CountLost();
      return false;
    }
    bytes += step;
    size -= step;
  }
  return true;
}

// The kernel's records: whether packets are missing, and whether the program mapped code.
void ReadKernelRecords() {
  perf_event_mmap_page* const page = t_pt.page;
  const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = page->data_tail;
  const auto* const data = reinterpret_cast<const uint8_t*>(page) + kPage;
  const auto copy = [&](uint64_t from, void* to, uint64_t size) {
    for (uint64_t i = 0; i < size; ++i)
      static_cast<uint8_t*>(to)[i] = data[(from + i) & (kDataBytes - 1)];
  };
  while (head - tail >= sizeof(perf_event_header)) {
    perf_event_header record;
    copy(tail, &record, sizeof(record));
    if (record.size < sizeof(record) || record.size > head - tail) break;
    if (record.type == PERF_RECORD_AUX) {
      uint64_t body[3] = {};  // offset, size, flags
      if (record.size >= sizeof(record) + sizeof(body))
        copy(tail + sizeof(record), body, sizeof(body));
      if ((body[2] & PERF_AUX_FLAG_TRUNCATED) != 0) PutGap(PtGapReason::kTruncated);
      if ((body[2] & PERF_AUX_FLAG_OVERWRITE) != 0 && body[1] >= kAuxBytes)
        PutGap(PtGapReason::kOverwritten);
    } else if (record.type == PERF_RECORD_LOST) {
      PutGap(PtGapReason::kNoRoom);
    } else if (record.type == PERF_RECORD_MMAP2 || record.type == PERF_RECORD_MMAP) {
      // The scribe looks what it is.
      g_region->modules_wanted.fetch_add(1, std::memory_order_acq_rel);
    }
    tail += record.size;
  }
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

// The packets since the last time. In overwrite mode the buffer is a circle whose head alone moves, and only the last
// turn of it is there.
void ReadPackets() {
  perf_event_mmap_page* const page = t_pt.page;
  const uint64_t head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);
  uint64_t tail = page->aux_tail;
  if (g_pt.mode == PtMode::kOverwrite) tail = head > kAuxBytes ? head - kAuxBytes : 0;
  bool room = true;
  while (room && tail < head) {
    const uint64_t at = tail & (kAuxBytes - 1);
    const uint64_t step = head - tail < kAuxBytes - at ? head - tail : kAuxBytes - at;
    room = PutPacketBytes(t_pt.aux + at, step);
    tail += step;
  }
  if (!room) PutGap(PtGapReason::kNoRoom);
  if (g_pt.mode == PtMode::kFullTrace) __atomic_store_n(&page->aux_tail, head, __ATOMIC_RELEASE);
}

void Unmap() {
  if (t_pt.aux != nullptr) RawCall(SYS_munmap, Arg(t_pt.aux), kAuxBytes);
  if (t_pt.page != nullptr) RawCall(SYS_munmap, Arg(t_pt.page), kPage + kDataBytes);
  if (t_pt.file >= 0) RawCall(SYS_close, t_pt.file);
  t_pt.aux = nullptr;
  t_pt.page = nullptr;
  t_pt.file = -1;
}

bool Failed(long result) { return result < 0 && result > -4096; }

}  // namespace

const char* PreparePt(PtMode mode) {
  const long type = ReadNumber(WF_PT_DEVICE "type", false);
  if (type < 0) return "this processor, or this kernel, has no Intel PT";
  g_pt.type = static_cast<uint32_t>(type);
  g_pt.mode = mode;
  SetBit(WF_PT_DEVICE "format/pt");
  SetBit(WF_PT_DEVICE "format/branch");
  SetBit(
      WF_PT_DEVICE
      "format/noretcomp");  // a return is told by its address: no call stack over sub-computations
  ReadProcessor();
  const long file = OpenEvent();
  if (Failed(file))
    return "the kernel does not let this user trace with Intel PT (perf_event_paranoid)";
  RawCall(SYS_close, file);
  return nullptr;
}

void BeginPt(Slot* slot) {
  Unmap();  // a forked child has its parent's
  const uint32_t number = NumberOf(g_region, slot);
  t_pt.out.Attach(&g_branch_rings->ring[number], BranchBytesOf(g_branch_rings, number),
                  BellOf(g_region));
  t_pt.running = 0;
  t_pt.open = false;
  PutFacts();
  const long file = OpenEvent();
  if (Failed(file)) return PutGap(PtGapReason::kNoRoom);
  t_pt.file = static_cast<int>(file);
  const long page =
      RawCall(SYS_mmap, 0, kPage + kDataBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (!Failed(page)) {
    t_pt.page = reinterpret_cast<perf_event_mmap_page*>(page);
    t_pt.page->aux_offset = kPage + kDataBytes;
    t_pt.page->aux_size = kAuxBytes;
    const int rights = g_pt.mode == PtMode::kFullTrace ? PROT_READ | PROT_WRITE : PROT_READ;
    const long aux = RawCall(SYS_mmap, 0, kAuxBytes, rights, MAP_SHARED, file, kPage + kDataBytes);
    if (!Failed(aux)) t_pt.aux = reinterpret_cast<uint8_t*>(aux);
  }
  if (t_pt.aux != nullptr) return;
  Unmap();
  PutGap(PtGapReason::kNoRoom);
}

void StartPt(Slot* slot) {
  if (t_pt.running != uint64_t{slot->index} + 1) {
    t_pt.running = uint64_t{slot->index} + 1;
    const uint64_t index = slot->index;
    if (!t_pt.out.Put([index](uint8_t* out) { return PutVarint(PutVarint(out, kPtOpen), index); }))
      t_pt.out.CountLost();
  }
  t_pt.open = true;
  if (t_pt.file >= 0) RawCall(SYS_ioctl, t_pt.file, PERF_EVENT_IOC_ENABLE, 0);
}

void EndPt(Slot* /*slot*/) {
  if (!t_pt.open) return;
  t_pt.open = false;
  if (t_pt.file < 0) return;
  RawCall(SYS_ioctl, t_pt.file, PERF_EVENT_IOC_DISABLE, 0);
  ReadPackets();
  ReadKernelRecords();
}

void FinishPt(Slot* slot) {
  EndPt(slot);
  Unmap();
}

}  // namespace wf::recorder
