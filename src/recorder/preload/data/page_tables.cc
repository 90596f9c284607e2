// Pages touched, exactly, by the page tables of this process.
//
// Every process has page tables of its own over the shared memory, so what is present in them was touched by this
// thread. When a sub-computation begins its pages are dropped from the tables (the memory itself is shared and stays);
// when it ends PAGEMAP_SCAN lists what came back. That a page was written is told by userfaultfd's asynchronous write
// protection, whose mark must lie in the tables before the touch: marks cost a table entry each and time in every scan,
// so they are laid per chunk of 64 KiB to 2 MiB, when the chunk is first touched. Until then it is PROT_NONE and the first touch
// is a SIGSEGV. A chunk that was not touched for a while is closed again. So a sub-computation costs by what it touches
// and not by the size of the heap.
//
// Registered ranges are not faulted around by the kernel, which would invent reads.
#include "recorder/preload/data/page_tables.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/preload/data/active_list.h"
#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/text.h"
#include "recorder/preload/recording.h"

namespace wf::recorder::data::page_tables {
namespace {

// Linux 6.7's; the headers of Debian 12 are older.
struct ScanArguments {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArguments);
constexpr uint64_t kScanProtect = 1;
constexpr uint64_t kPageWatched = 1, kPageWritten = 2, kPagePresent = 8;
constexpr uint64_t kFeatureShmem = 1 << 12, kFeatureUnpopulated = 1 << 13, kFeatureAsync = 1 << 15;

constexpr uint64_t kSmallChunk = kChunk / 32;
// A part stays open as long as looking at it has cost less than opening it again would: a signal and three system calls,
// 15 to 30 µs, against some 4 ns for each of its pages in every scan.
uint64_t IdleLimit(uint64_t size) { return size <= kChunk / 4 ? 64 : 32; }
// A large part of which one in so many small pieces was touched, over as many sub-computations, is better opened anew, in
// pieces.
constexpr uint64_t kFewPieces = 8;
constexpr uint32_t kPiecesAge = 64;
constexpr uint64_t kScanRuns = 128;  // the kernel allocates room for as many

void LayMarks(uint64_t start, uint64_t end) {
  uffdio_writeprotect protect = {};
  protect.range = {start, end - start};
  protect.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  const long result = Kernel(SYS_ioctl, self->uffd, UFFDIO_WRITEPROTECT, Word(&protect));
  if (result < 0) GiveUp("userfaultfd cannot protect a range");
}

// How much is opened around a touch. Little, because every page of it costs in every scan; more for a thread that walks
// on through memory, or that has opened much already, because every opening costs a signal and a mapping.
uint64_t ChunkFor(uint64_t address, int place) {
  uint64_t size = self->active_count < 128    ? kSmallChunk
                  : self->active_count < 1024 ? kChunk / 4
                                              : kChunk;
  if (place > 0) {
    const Active& before = self->active[place - 1];
    if (before.writable != 0 && address - before.end < size) {
      const uint64_t doubled = 2 * (before.end - before.start);
      while (size < kChunk && size < doubled) size *= 2;
    }
  }
  return size;
}

void Open(const Region& region, uint64_t address) {
  const int place = FirstActiveAfter(address);
  const uint64_t size = ChunkFor(address, place);
  const uint64_t chunk = address & ~(size - 1);
  Active active = {};
  active.start = chunk > region.start ? chunk : region.start;
  active.end = chunk + size < region.end ? chunk + size : region.end;
  if (place > 0 && self->active[place - 1].end > active.start)
    active.start = self->active[place - 1].end;
  if (place < self->active_count && self->active[place].start < active.end)
    active.end = self->active[place].start;
  active.region = region.start;
  active.writable = 1;
  active.fresh = 1;
  Kernel(SYS_madvise, static_cast<long>(active.start), static_cast<long>(active.end - active.start),
         MADV_DONTNEED);
  LayMarks(active.start, active.end);
  Kernel(SYS_mprotect, static_cast<long>(active.start),
         static_cast<long>(active.end - active.start), region.protection);
  InsertActive(place, active);
}

void Close(int at) {
  const Active& active = self->active[at];
  Kernel(SYS_mprotect, static_cast<long>(active.start),
         static_cast<long>(active.end - active.start), PROT_NONE);
  EraseActive(at);
  self->parts_closed = 1;
}

// Calls `sink` for the present pages of [start, end) and lays marks on those without one.
template <typename Sink>
void Scan(int pagemap, uint64_t start, uint64_t end, uint64_t flags, const Sink& sink) {
  for (uint64_t at = start; at < end;) {
    ScanArguments scan = {};
    scan.size = sizeof scan;
    scan.flags = flags;
    scan.start = at;
    scan.end = end;
    scan.vec = reinterpret_cast<uint64_t>(self->found);
    scan.vec_len = kScanRuns;
    scan.category_mask = kPagePresent | kPageWatched;
    scan.return_mask = kPagePresent | kPageWritten;
    const long n = Kernel(SYS_ioctl, pagemap, static_cast<long>(kPagemapScan), Word(&scan));
    if (n < 0) GiveUp("PAGEMAP_SCAN failed");
    for (long i = 0; i < n; ++i) sink(self->found[i]);
    if (scan.walk_end <= at) return;
    at = scan.walk_end;
  }
}

// Joins neighbouring runs of one kind before they are handed on.
class Joined {
 public:
  Joined(RunSink sink, void* to) : sink_(sink), to_(to) {}
  void Add(uint64_t start, uint64_t end, bool written) {
    if (start == end_ && written == written_) {
      end_ = end;
      return;
    }
    Flush();
    start_ = start;
    end_ = end;
    written_ = written;
  }
  void Flush() {
    if (end_ > start_) sink_(to_, start_, end_, written_);
    start_ = end_ = 0;
  }

 private:
  RunSink sink_;
  void* to_;
  uint64_t start_ = 0, end_ = 0;
  bool written_ = false;
};

}  // namespace

const char* Start() {
  int fd = static_cast<int>(
      Kernel(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1 /* UFFD_USER_MODE_ONLY */));
  if (fd < 0) return "userfaultfd is not available";
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = kFeatureShmem | kFeatureUnpopulated | kFeatureAsync;
  if (Kernel(SYS_ioctl, fd, UFFDIO_API, Word(&api)) < 0) {
    Kernel(SYS_close, fd);
    return "this kernel's userfaultfd has no asynchronous write protection (Linux 6.7 has)";
  }
  self->uffd = MoveDescriptor(fd);
  fd = static_cast<int>(Kernel(SYS_open, Word("/proc/self/pagemap"), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return "/proc/self/pagemap cannot be read";
  self->pagemap = MoveDescriptor(fd);
  ScanArguments scan = {};
  scan.size = sizeof scan;
  scan.start = reinterpret_cast<uint64_t>(self) & ~(kPage - 1);
  scan.end = scan.start + kPage;
  scan.vec = reinterpret_cast<uint64_t>(self->found);
  scan.vec_len = 1;
  scan.category_mask = scan.return_mask = kPagePresent;
  if (Kernel(SYS_ioctl, self->pagemap, static_cast<long>(kPagemapScan), Word(&scan)) < 0)
    return "this kernel has no PAGEMAP_SCAN (Linux 6.7 has)";
  if (self->uffd < 0 || self->pagemap < 0) return "no descriptor is left";
  return nullptr;
}

bool Watch(uint64_t start, uint64_t end) {
  uffdio_register range = {};
  range.range = {start, end - start};
  range.mode = UFFDIO_REGISTER_MODE_WP;
  return Kernel(SYS_ioctl, self->uffd, UFFDIO_REGISTER, Word(&range)) >= 0;
}

Faulted OpenAt(const Region& region, uint64_t address, Access) {
  const int at = FirstActiveAfter(address);
  if (at < self->active_count && self->active[at].start <= address) return Faulted::kProgram;
  Open(region, address);
  return Faulted::kRetry;
}

uint64_t OpenForKernel(const Region& region, uint64_t start, uint64_t end, KernelAccess) {
  for (uint64_t at = start; at < end;) {
    const int place = FirstActiveAfter(at);
    if (place == self->active_count || self->active[place].start > at) Open(region, at);
    at = self->active[FirstActiveAfter(at)].end;
  }
  return end;
}

void KeepTouched(uint64_t start, uint64_t end) {
  for (int i = FirstActiveAfter(start); i < self->active_count && self->active[i].start < end;
       ++i) {
    const Active& active = self->active[i];
    Scan(self->pagemap, active.start > start ? active.start : start,
         active.end < end ? active.end : end, 0, [&](const PageRegion& run) {
           if (self->kept_count == kMaxRuns) GiveUp("too many pieces of memory unmapped at once");
           PageRegion& kept = self->kept[self->kept_count++];
           kept = run;
           if (active.writable == 0) kept.categories &= ~kPageWritten;
         });
  }
}

void ForgetRange(uint64_t start, uint64_t end) {
  for (int i = FirstActiveAfter(start); i < self->active_count && self->active[i].start < end;) {
    const Active was = self->active[i];
    KeepTouched(was.start, was.end);
    if (was.writable != 0) {
      Close(i);
      continue;
    }
    EraseActive(i);
    Active piece = was;
    if (was.end > end) {
      piece.start = end;
      InsertActive(i, piece);
    }
    if (was.start < start) {
      piece = was;
      piece.end = start;
      InsertActive(i, piece);
      ++i;
    }
    if (was.end > end) ++i;
  }
}

void AddFileRange(uint64_t start, uint64_t end) {
  Active active = {};
  active.start = start;
  active.end = end;
  active.region = start;
  active.fixed = 1;
  active.fresh = 1;
  InsertActive(FirstActiveAfter(start), active);
}

namespace {

// Active parts near each other are scanned by one call. Within one mapping what lies between is walked: nothing, as long
// as no part was closed, for then nothing there was ever touched; else page tables, entry by entry. Other mappings are
// passed over.
bool ScannedTogether(const Active& a, const Active& b) {
  constexpr uint64_t kOtherMapping = uint64_t{1} << 30, kUntouched = uint64_t{128} << 20,
                     kPerhapsTouched = uint64_t{512} << 10;
  return b.start - a.end < (a.region != b.region      ? kOtherMapping
                            : self->parts_closed == 0 ? kUntouched
                                                      : kPerhapsTouched);
}

// Calls `sink` with every present run of the parts from `first` on that `wanted` is true of and that are scanned by one
// call, and with the part it lies in. Returns the part behind them.
template <typename Wanted, typename Sink>
int ScanFrom(int first, uint64_t flags, const Wanted& wanted, const Sink& sink) {
  int last = first;
  while (last + 1 < self->active_count && wanted(self->active[last + 1]) &&
         ScannedTogether(self->active[last], self->active[last + 1]))
    ++last;
  int at = first;
  Scan(self->pagemap, self->active[first].start, self->active[last].end, flags,
       [&](const PageRegion& found) {
         // One run may go over the border of two parts.
         PageRegion run = found;
         while (run.start < run.end) {
           while (at <= last && self->active[at].end <= run.start) ++at;
           if (at > last) return;
           Active& active = self->active[at];
           if (run.start < active.start) run.start = active.start;
           if (run.start >= run.end) return;
           const uint64_t end = run.end < active.end ? run.end : active.end;
           sink(active, PageRegion{run.start, end, run.categories});
           run.start = end;
         }
       });
  return last + 1;
}

template <typename Sink>
void ScanActive(uint64_t flags, const Sink& sink) {
  const auto every = [](const Active&) { return true; };
  for (int at = 0; at < self->active_count;) at = ScanFrom(at, flags, every, sink);
}

// Drops runs of pages from the tables of this process, many with one call. Those pages stay that the next
// sub-computation touches for certain, and before anything else: the one that this very code returns through, and the
// one where its next recorded call will look up its slot. They are marked anew like all others, so whether they are
// written is found out; that they are there is no news.
class Dropped {
 public:
  explicit Dropped(const void* stack)
      : kept_{reinterpret_cast<uint64_t>(stack) & ~(kPage - 1),
              reinterpret_cast<uint64_t>(&t_slot) & ~(kPage - 1)} {
    if (kept_[0] > kept_[1]) {
      const uint64_t first = kept_[1];
      kept_[1] = kept_[0];
      kept_[0] = first;
    }
  }
  ~Dropped() { Flush(); }
  void Add(uint64_t start, uint64_t end) {
    for (const uint64_t kept : kept_) {
      if (kept < start || kept >= end) continue;
      Put(start, kept);
      start = kept + kPage;
    }
    Put(start, end);
  }
  // Of a part of a mapped file: as far as one page of page table goes, for a table that is emptied whole is given back,
  // and costs no scan any more.
  void Add(const Active& active, uint64_t start, uint64_t end) {
    if (active.fixed == 0 || active.end - active.start < 2 * kChunk) return Add(start, end);
    if (end <= dropped_) return;
    start &= ~(kChunk - 1);
    end = (end + kChunk - 1) & ~(kChunk - 1);
    if (start < dropped_) start = dropped_;
    if (start < active.start) start = active.start;
    dropped_ = end < active.end ? end : active.end;
    Put(start, dropped_);
  }

 private:
  static constexpr long kThisProcess = -10001;  // PIDFD_SELF_THREAD_GROUP, Linux 6.14

  void Put(uint64_t start, uint64_t end) {
    if (start >= end) return;
    if (count_ == kDropBatch) Flush();
    self->drop[count_++] = {start, end - start};
  }
  void Flush() {
    if (count_ > 1 &&
        Kernel(SYS_process_madvise, kThisProcess, Word(self->drop), count_, MADV_DONTNEED, 0) >= 0)
      count_ = 0;
    for (int i = 0; i < count_; ++i)
      Kernel(SYS_madvise, static_cast<long>(self->drop[i].start),
             static_cast<long>(self->drop[i].length), MADV_DONTNEED);
    count_ = 0;
  }

  uint64_t kept_[2];
  uint64_t dropped_ = 0, bytes_ = 0;
  int count_ = 0;
};

}  // namespace

namespace {

// Which small pieces of the part a run lies in, as bits.
uint32_t PiecesOf(const Active& active, const PageRegion& run) {
  const uint64_t first = (run.start - active.start) / kSmallChunk;
  const uint64_t last = (run.end - 1 - active.start) / kSmallChunk;
  const uint64_t up_to_last = (uint64_t{2} << last) - 1, before_first = (uint64_t{1} << first) - 1;
  return static_cast<uint32_t>(up_to_last & ~before_first);
}

bool CostsMoreThanItSaves(Active& active) {
  const uint64_t size = active.end - active.start;
  if (active.idle > IdleLimit(size)) return size > kSmallChunk || self->active_count > 32;
  if (size < kFewPieces * kSmallChunk || ++active.age < kPiecesAge) return false;
  const auto touched = static_cast<uint64_t>(__builtin_popcount(active.pieces));
  const bool few = touched * kFewPieces * kSmallChunk <= size;
  active.age = 0;
  active.pieces = 0;
  return few;
}

}  // namespace

void CollectTouched(RunSink sink, void* to) {
  Joined joined(sink, to);
  for (int i = 0; i < self->active_count; ++i) {
    ++self->active[i].idle;
    self->active[i].fresh = 0;
  }
  int present = 0;
  ScanActive(kScanProtect, [&](Active& active, const PageRegion& run) {
    active.idle = 0;
    if (active.fixed == 0) active.pieces |= PiecesOf(active, run);
    if (present < kMaxPresent) self->present[present] = {run.start, run.end - run.start};
    ++present;
    joined.Add(run.start, run.end, active.writable != 0 && (run.categories & kPageWritten) != 0);
  });
  joined.Flush();
  for (int i = 0; i < self->kept_count; ++i)
    sink(to, self->kept[i].start, self->kept[i].end,
         (self->kept[i].categories & kPageWritten) != 0);
  self->kept_count = 0;
  self->present_count = present <= kMaxPresent ? present : -1;
}

void PeekTouched(RunSink sink, void* to) {
  ScanActive(0, [&](const Active& active, const PageRegion& run) {
    sink(to, run.start, run.end, active.writable != 0 && (run.categories & kPageWritten) != 0);
  });
  for (int i = 0; i < self->kept_count; ++i)
    sink(to, self->kept[i].start, self->kept[i].end,
         (self->kept[i].categories & kPageWritten) != 0);
}

namespace {

// A listed call of which is known what it touches leaves the rest of memory as the sub-computation before it left it.
// What it may have touched: its object, the stack it ran on, the thread's own block, the variables of libraries; and what
// was opened meanwhile.
class ByCall {
 public:
  explicit ByCall(const void* stack)
      : stack_(reinterpret_cast<uint64_t>(stack)),
        thread_(reinterpret_cast<uint64_t>(__builtin_thread_pointer())),
        slot_(reinterpret_cast<uint64_t>(&t_slot)) {}
  bool operator()(const Active& active) const {
    if (active.fresh != 0 || Meets(active, self->call_object, self->call_object + kObject) ||
        Meets(active, stack_ - kFrames, stack_ + kFrames) ||
        Meets(active, thread_ - kThread, thread_ + kThread) || Meets(active, slot_, slot_ + 8))
      return true;
    const bool program =
        active.start + kBelowBreak >= shared->break_start && active.start < shared->break_end;
    const bool arena = active.start >= shared->arena && active.start < shared->arena + kArenaSize;
    return !program && !arena && active.fixed == 0 && active.region != shared->first_stack;
  }

 private:
  static constexpr uint64_t kObject = 64;        // no synchronization object is larger
  static constexpr uint64_t kFrames = 32 << 10;  // those of the recorder and of libc take less
  static constexpr uint64_t kThread = 16 << 10;  // libc's description of the thread, errno
  static constexpr uint64_t kBelowBreak = uint64_t{4}
                                          << 30;  // the variables of the program lie there

  static bool Meets(const Active& active, uint64_t start, uint64_t end) {
    return active.start < end && start < active.end;
  }

  uint64_t stack_, thread_, slot_;
};

// Drops what the sub-computation was found to have touched, and looks only at what the call may have.
void DropKnown(const ByCall& by_call, Dropped& dropped) {
  int run = 0;
  for (int at = 0; at < self->active_count;) {
    const Active& active = self->active[at];
    if (by_call(active)) {
      at = ScanFrom(at, kScanProtect, by_call, [&](const Active& part, const PageRegion& found) {
        dropped.Add(part, found.start, found.end);
      });
      continue;
    }
    for (; run < self->present_count && self->present[run].start < active.end; ++run) {
      const DropRun& present = self->present[run];
      if (present.start >= active.start)
        dropped.Add(active, present.start, present.start + present.length);
    }
    ++at;
  }
}

}  // namespace

void ForgetTouched() {
  self->kept_count = 0;
  for (int i = 0; i < self->active_count;) {
    if (self->active[i].fixed == 0 && CostsMoreThanItSaves(self->active[i])) {
      Close(i);
    } else {
      ++i;
    }
  }
  const void* frame = __builtin_frame_address(0);
  Dropped dropped(frame);
  if (self->call_object != 0 && self->present_count >= 0) {
    DropKnown(ByCall(frame), dropped);
  } else {
    ScanActive(kScanProtect, [&](const Active& active, const PageRegion& run) {
      dropped.Add(active, run.start, run.end);
    });
  }
  self->present_count = -1;
}

}  // namespace wf::recorder::data::page_tables
