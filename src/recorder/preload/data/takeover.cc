// The memory of the process becomes the program's shared memory, once, and a forked child's becomes its own.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>

#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/regions.h"
#include "recorder/preload/data/text.h"
#include "recorder/preload/data/tracker.h"

namespace wf::recorder::data {

Shared* shared;
Self* self;

int MoveDescriptor(int fd) {
  const long moved = Kernel(SYS_fcntl, fd, F_DUPFD_CLOEXEC, shared->first_own_fd);
  Kernel(SYS_close, fd);
  return static_cast<int>(moved);
}

namespace {

// One line of /proc/self/maps.
struct Line {
  uint64_t start, end;
  char permissions[5];
  bool stack, heap;
};

bool NextLine(const char** at, const char* end, Line* line) {
  const char* p = *at;
  if (p >= end) return false;
  const char* stop = p;
  while (stop < end && *stop != '\n') ++stop;
  line->start = ReadHex(&p);
  ++p;
  line->end = ReadHex(&p);
  ++p;
  for (int i = 0; i < 4; ++i) line->permissions[i] = *p++;
  line->permissions[4] = 0;
  line->stack = line->heap = false;
  for (const char* q = p; q + 6 <= stop; ++q) {
    if (StartsWith(q, "[stack")) line->stack = true;
    if (StartsWith(q, "[heap]")) line->heap = true;
  }
  *at = stop + 1;
  return true;
}

// Where this library is; the linker defines them.
extern "C" __attribute__((visibility("hidden"))) const char _end[];

bool OwnData(uint64_t start, uint64_t end) {
  return start < reinterpret_cast<uint64_t>(_end) && end > reinterpret_cast<uint64_t>(__ehdr_start);
}

const char* Share(uint64_t start, uint64_t end, uint64_t mapped_from, int protection,
                  RegionKind kind) {
  const uint64_t backing = TakeAnnex(end - start);
  if (backing == 0) return "the program's memory does not fit";
  const uint64_t offset = backing;
  for (uint64_t at = mapped_from; at < end;) {
    const long n = Kernel(SYS_pwrite64, shared->arena_fd, static_cast<long>(at),
                          static_cast<long>(end - at), static_cast<long>(offset + (at - start)));
    if (n <= 0) return "the program's memory cannot be copied";
    at += static_cast<uint64_t>(n);
  }
  const Region region = {start, end, offset, -1, static_cast<uint8_t>(protection), kind, 0, 0};
  InsertRegion(FirstRegionAfter(start), region);
  return nullptr;
}

}  // namespace

const char* ShareMemory() {
  // The arena is one region; backing that is mapped elsewhere is simply not used at its home address.
  InsertRegion(0, {shared->arena, shared->arena + kArenaSize, 0, -1, PROT_READ | PROT_WRITE,
                   RegionKind::kMemory, 0, 0});
  static char maps[256 << 10];
  const int fd = static_cast<int>(Kernel(SYS_open, Word("/proc/self/maps"), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return "/proc/self/maps cannot be read";
  uint64_t size = 0;
  for (long n = 0; size < sizeof maps && (n = Kernel(SYS_read, fd, Word(maps + size),
                                                     static_cast<long>(sizeof maps - size))) > 0;)
    size += static_cast<uint64_t>(n);
  Kernel(SYS_close, fd);
  if (size == sizeof maps) return "the program has too many mappings";
  uint64_t limit[2] = {8 << 20, 0};
  Kernel(SYS_prlimit64, 0, 3 /* RLIMIT_STACK */, 0, Word(limit));
  const uint64_t stack_size = limit[0] > (64 << 20) ? 64 << 20 : Down(limit[0]);
  const auto own_start = reinterpret_cast<uint64_t>(self);
  const auto own_end = Up(own_start + sizeof(Self)) + kHandlerStack;
  const uint64_t break_now = static_cast<uint64_t>(Kernel(SYS_brk, 0));
  shared->break_start = shared->break_now = break_now;
  Line line;
  // First everything is copied and listed, then it is replaced: between the two nothing may be written but what is on
  // the handler's stack and in `shared`.
  const int before = shared->regions_count;
  const char* at = maps;
  uint64_t heap_start = 0;
  while (NextLine(&at, maps + size, &line)) {
    if (line.permissions[3] != 'p' || line.permissions[1] != 'w') continue;
    if (line.start < own_end && line.end > own_start) continue;
    if (line.start >= shared->recorder && line.start < shared->recorder + kRecorderSize) continue;
    const int protection = PROT_READ | PROT_WRITE | (line.permissions[2] == 'x' ? PROT_EXEC : 0);
    uint64_t start = line.start, end = line.end;
    if (line.stack && end - start < stack_size) start = end - stack_size;
    if (line.stack) shared->first_stack = start;
    if (line.heap) {
      heap_start = start;
      continue;
    }
    const char* wrong = Share(start, end, line.start, protection,
                              OwnData(start, end) ? RegionKind::kRecorder : RegionKind::kMemory);
    if (wrong != nullptr) return wrong;
  }
  // The break gets room to grow, in the same place.
  const uint64_t heap_from = heap_start != 0 ? heap_start : Up(break_now);
  shared->break_end = heap_from + kBreakSize;
  {
    const uint64_t filled = Up(break_now);
    const long reserved =
        Kernel(SYS_mmap, static_cast<long>(filled), static_cast<long>(shared->break_end - filled),
               PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (Failed(reserved))
      shared->break_end = filled;  // the break cannot grow: malloc falls back to mmap
    if (shared->break_end > heap_from) {
      const uint64_t backing = TakeAnnex(shared->break_end - heap_from);
      if (backing == 0) return "the program's memory does not fit";
      const uint64_t offset = backing;
      if (filled > heap_from)
        Kernel(SYS_pwrite64, shared->arena_fd, static_cast<long>(heap_from),
               static_cast<long>(filled - heap_from), static_cast<long>(offset));
      InsertRegion(FirstRegionAfter(heap_from),
                   {heap_from, shared->break_end, offset, -1, PROT_READ | PROT_WRITE,
                    RegionKind::kMemory, 0, 0});
    }
  }
  (void)before;
  for (int i = 0; i < shared->regions_count; ++i) {
    const Region& region = shared->regions[i];
    if (region.start == shared->arena) continue;
    const int protection = region.kind == RegionKind::kMemory ? PROT_NONE : region.protection;
    const long result = Kernel(SYS_mmap, static_cast<long>(region.start),
                               static_cast<long>(region.end - region.start), protection,
                               MAP_SHARED | MAP_FIXED | MAP_NORESERVE, shared->arena_fd,
                               static_cast<long>(region.offset));
    if (Failed(result)) GiveUp("the program's memory cannot be shared");
  }
  return nullptr;
}

namespace {

int CopyOf(int from, uint64_t mapped_at, const char* name) {
  int to = static_cast<int>(Kernel(SYS_memfd_create, Word(name), 1 /* MFD_CLOEXEC */));
  if (to < 0) return to;
  to = MoveDescriptor(to);
  const long size = Kernel(SYS_lseek, from, 0, SEEK_END);
  Kernel(SYS_ftruncate, to, size);
  for (long at = 0; at < size;) {
    const long data = Kernel(SYS_lseek, from, at, SEEK_DATA);
    if (data < 0) break;
    const long hole = Kernel(SYS_lseek, from, data, SEEK_HOLE);
    for (long p = data; p < hole;) {
      const long n = Kernel(SYS_pwrite64, to, static_cast<long>(mapped_at) + p, hole - p, p);
      if (n <= 0) return -ENOMEM;
      p += n;
    }
    at = hole;
  }
  return to;
}

}  // namespace

long CopyMemory(MemoryCopy* copy) {
  copy->arena_fd = CopyOf(shared->arena_fd, shared->alias, "wherefore-arena");
  if (copy->arena_fd < 0) return copy->arena_fd;
  copy->recorder_fd = CopyOf(shared->recorder_fd, shared->recorder, "wherefore-recorder");
  if (copy->recorder_fd < 0) {
    Kernel(SYS_close, copy->arena_fd);
    return copy->recorder_fd;
  }
  return 0;
}

void AdoptCopy(const MemoryCopy& copy) {
  const uint64_t recorder = shared->recorder;
  Kernel(SYS_close, shared->recorder_fd);
  Kernel(SYS_close, shared->arena_fd);
  Kernel(SYS_mmap, static_cast<long>(recorder), static_cast<long>(kRecorderSize),
         PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, copy.recorder_fd, 0);
  // From here on `shared` is the child's own.
  shared->recorder_fd = copy.recorder_fd;
  shared->arena_fd = copy.arena_fd;
  Kernel(SYS_mmap, static_cast<long>(shared->alias), static_cast<long>(2 * kArenaSize),
         PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, copy.arena_fd, 0);
  for (int i = 0; i < shared->regions_count; ++i) {
    const Region& region = shared->regions[i];
    if (region.kind != RegionKind::kMemory && region.kind != RegionKind::kRecorder) continue;
    const int protection = region.kind == RegionKind::kMemory ? PROT_NONE : region.protection;
    Kernel(SYS_mmap, static_cast<long>(region.start), static_cast<long>(region.end - region.start),
           protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, copy.arena_fd,
           static_cast<long>(region.offset));
  }
}

}  // namespace wf::recorder::data
