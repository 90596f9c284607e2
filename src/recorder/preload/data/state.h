// The memory that data depth lives in. Threads are processes that share everything the program can write; what is
// here is of two kinds:
//  - Shared: one for the whole program, mapped by every process, never tracked;
//  - Self: private to each process (copied by clone), so it serves as storage of the thread at a fixed address.
// Nothing here allocates, throws or calls libc: it runs inside the handler of SIGSYS, where libc's own state may be in
// any condition.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>

#include "recorder/format/memory_events.h"
#include "recorder/format/records.h"
#include "recorder/preload/data/channels.h"
#include "recorder/preload/data/handler_lock.h"
#include "recorder/preload/outside_signals.h"

namespace wf::recorder::data {

constexpr uint64_t kPage = 4096;
// What one page of page table covers; max that is opened at once.
constexpr uint64_t kChunk = uint64_t{2} << 20;
constexpr uint64_t kArenaSize = uint64_t{1} << 40;
constexpr uint64_t kRecorderSize = uint64_t{64} << 30;
constexpr uint64_t kBreakSize = uint64_t{64} << 30;
constexpr int kSignals = 65;

enum class RegionKind : uint8_t {
  kMemory,    // of the program: backed by the arena's file, tracked
  kRecorder,  // of the recorder: backed by the arena's file, shared, not tracked
  kFile,      // a file mapping that stays one
  kShared,    // shared with children too (MAP_SHARED without a file)
};

struct Region {
  uint64_t start;
  uint64_t end;
  uint64_t offset;
  int32_t fd;  // kFile: kept open for processes that map it later, or -1
  uint8_t protection;
  RegionKind kind;
  uint8_t map_private;  // kFile
  uint8_t unused;
};

struct Flow;  // flow.h

enum class TrackerKind : uint8_t { kAuto, kPageTables, kFaults };

struct Extent {
  uint64_t start;
  uint64_t end;
};

// The signal actions as the program set them; the kernel's are ours.
struct SignalAction {
  uint64_t handler;
  uint64_t flags;
  uint64_t mask;
};

constexpr int kLastNoted = 2;  // of Self::in_call: nothing more is to be recorded

enum class EndKind : uint32_t { kRunning = 0, kExit = 1, kSignal = 2 };

constexpr int kMaxRegions = 16384;
constexpr int kMaxExtents = 65536;
constexpr int kMaxChanges = 4096;
constexpr int kMaxThreads = 65536;

struct Shared {
  HandlerLock memory_lock;
  HandlerLock signal_lock;
  HandlerLock thread_lock;

  TrackerKind tracker;
  int arena_fd;
  int recorder_fd;
  int shared_fd;
  int first_own_fd;  // descriptors from here on are ours
  uint64_t descriptor_limit;
  uint64_t arena;  // address of the program's anonymous memory
  uint64_t alias;  // the same pages at an address that is not tracked
  uint64_t arena_high;
  uint64_t shared_high;
  uint64_t recorder;
  std::atomic<uint64_t> recorder_used;
  uint64_t files;  // addresses for mappings of files
  uint64_t files_end;
  uint64_t break_start, break_now, break_end;
  uint64_t first_stack;  // where the region of the first thread's stack starts

  std::atomic<uint64_t> version;  // of the regions
  Extent changes[kMaxChanges];    // ring; change n made version n + 1
  int regions_count;
  Region regions[kMaxRegions];
  int free_count;
  Extent free[kMaxExtents];
  int annex_count;
  Extent annex_free[kMaxExtents];  // offsets
  int file_free_count;
  Extent file_free[kMaxExtents];

  std::atomic<uint64_t> signal_version;
  SignalAction actions[kSignals];
  // Signals to the program that every thread blocks: the first thread that waits for or unblocks one gets it.
  std::atomic<uint64_t> pending;
  siginfo_t pending_info[kSignals];

  int main_pid;
  int parent_pid;
  std::atomic<int> live;
  std::atomic<uint32_t> ended;
  std::atomic<uint32_t> main_gone;
  std::atomic<uint32_t> end_kind;
  int end_value;
  std::atomic<int> gathered;  // processes that recorded their last pages
  int slots_high;
  std::atomic<int> slots[kMaxThreads];  // thread ids; 0 free, -creator while it starts

  // What processes that ended used to watch their memory. Closing it while they live makes the kernel walk
  // that memory.
  struct Leftover {
    int pid, uffd, pagemap;
  };
  int leftovers_count;
  Leftover leftovers[1024];

  HandlerLock name_lock;
  std::atomic<int> name_tid;  // this thread is to take the name; 0 when it has done so
  char name[16];

  Streams streams;
  uint64_t loader_start, loader_end;
  int arguments_noted;

  Flow* flow;  // null without a policy
};

// A part of memory that is accessible in this process and examined when a sub-computation ends.
struct Active {
  uint64_t start;
  uint64_t end;
  uint64_t region;  // where its region starts
  uint32_t idle;    // sub-computations since it was last touched
  uint32_t age;     // sub-computations that `pieces` covers
  uint32_t pieces;  // which of its small pieces were touched in them
  uint8_t writable;
  uint8_t fixed;  // never closed
  uint8_t fresh;  // opened since the last sub-computation ended
};

constexpr int kMaxActive = 65536;
constexpr int kMaxRuns = 4096;
constexpr int kMaxRecordRuns = 2048;
constexpr uint64_t kHandlerStack = 512 << 10;

struct PageRegion {
  uint64_t start;
  uint64_t end;
  uint64_t categories;
};

// Opened for the kernel during a system call, by the tracker of faults.
struct Opened {
  uint64_t start, end;
  uint64_t fingerprint;
  uint8_t unknown;  // 1: whether the kernel writes it, 2: it can only read it
  int read_only;    // protection for reading
  int all;          // and for everything that the program may do
};
constexpr int kMaxOpened = 1024;

struct DropRun {
  uint64_t start, length;
};
constexpr int kMaxPresent = 2048;
constexpr int kDropBatch = 512;

struct Self {
  int pid;
  int slot;
  int is_main;
  int uffd;
  int pagemap;
  int in_call;   // between the end of a sub-computation and the start of the next
  int creating;  // the program is creating a thread; else libc does, for itself
  int name_fd;   // descriptor + 1 through which the name of another thread is being written
  int name_tid;
  uint64_t version;
  uint64_t signal_version;
  uint64_t clear_tid;
  uint64_t alternate_stack, alternate_size;
  int alternate_flags;
  uint64_t vfork_return;
  uint64_t mask_scratch;
  uint64_t select_scratch[2];
  uint64_t clone_scratch[16];
  char path_scratch[4096];
  uint64_t hidden_mask;  // signals that the program believes to be blocked
  // The recorder is working: a signal that arrives now is kept until it is done (signals.h).
  std::atomic<int> holding;
  int kept_signal;
  uint64_t kept_mask;
  siginfo_t kept_info;
  uint64_t last_fault;
  MemoryEvent open_last;  // of the open record of allocations: its last event, and its size
  uint32_t open_used;
  uint64_t labels;       // of the policy: the labels that the running sub-computation has read
  uint64_t call_object;  // the object that the current listed call touches; 0 if unknown
  int active_count;
  int parts_closed;
  int kept_count;
  int opened_count;
  int all_open;
  Opened opened[kMaxOpened];
  uint64_t last_argument[6];  // of the system call that is being made
  PageRegion found[128];
  Pages pages;  // a record in the making; its runs follow
  PageRun runs[kMaxRecordRuns];
  PageRegion kept[kMaxRuns];
  int present_count;  // of what the ended sub-computation touched; -1 if more may have been touched since
  DropRun present[kMaxPresent];
  // Here and not on the stack, which belongs to the program and is tracked.
  DropRun drop[kDropBatch];
  Active active[kMaxActive];
  Extent closing[kMaxActive];
};

extern Shared* shared;
extern Self* self;

[[noreturn]] void GiveUp(const char* why);

}  // namespace wf::recorder::data
