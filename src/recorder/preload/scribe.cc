// Rules here: between fork and end only raw system calls and code of this library, because the program's locks may be
// held by threads that do not exist in this process. Everything is static memory.
#include "recorder/preload/scribe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstring>

#include "recorder/preload/checkpoint.h"
#include "recorder/preload/chunk_file.h"
#include "recorder/preload/control/branch_rings.h"
#include "recorder/preload/control/emulator.h"
#include "recorder/preload/data/data_depth.h"
#include "recorder/preload/module_scan.h"
#include "recorder/preload/outside_signals.h"
#include "recorder/preload/raw_calls.h"
#include "recorder/preload/recording.h"
#include "recorder/preload/ring.h"
#include "recorder/preload/scribe_memory.h"
#include "recorder/preload/settled_calls.h"
#include "recorder/preload/slot_ring.h"
#include "recorder/preload/snapshot_requests.h"
#include "recorder/preload/threads.h"

namespace wf::recorder {
namespace {

// A file that lost its writer lacks at most this and what the kernel had not written: the contract allows 100 ms.
constexpr long kRoundNs = 40'000'000;

// Chunks of a file of slots; a record has up to kMaxRecord bytes.
constexpr uint32_t kSlotChunk = 64 * 1024;
// Of a slot: what a chunk takes at most, with the facts of the objects it mentions; what is kept for the records that
// come while a snapshot is being taken, when several rings may be full; and for the end of the snapshot.
constexpr uint64_t kChunkRoom = 160 * 1024, kClosingRoom = 1536 * 1024, kEndRoom = 256 * 1024;
// How long a snapshot waits for a thread that was interrupted between drawing a number and writing it down.
constexpr uint64_t kSettleNs = 250'000'000;
constexpr long kSettlePauseNs = 100'000;

ChunkFile g_file;
ModuleScan g_modules;
Checkpoint g_checkpoint;

SettledCalls g_calls;
struct {
  BranchesHead head;
  uint8_t bytes[kMostBranchBytes];
} g_branches;
static_assert(sizeof(g_branches) <= kMaxChunk);

class Scribe {
 public:
  Scribe(Region* region, SharedHead* head, int process)
      : region_(region), head_(head), process_(process), generation_(region->generation) {}

  void Run() {
    if (region_->file_slots != 0) {
      g_checkpoint.Prepare();
      ring_.Open(head_);
      BeginSlot(Program::kRuns);
    }
    ScanModules();
    next_snapshot_ns_ = region_->snapshot_every_ns;
    while (true) {
      const Program program = ProcessEnded() ? Program::kEnded : Program::kRuns;
      if (program == Program::kEnded) CloseOpenRecords();
      DrainAll();
      while (full_) {
        TakeSnapshot(program);
        DrainAll();
      }
      if (__atomic_load_n(&head_->generation, __ATOMIC_ACQUIRE) != generation_) return;  // exec
      if (program == Program::kEnded) break;
      if (base_wanted_) base_wanted_ = !WriteSettled(program);
      ServeSnapshots();
      LookForOutsideSignals(region_);
      Sleep();
    }
    limit_ = ring_.end() - kEndRoom;
    WriteEnds();
    WriteLosses();
    if (ring_.on()) {
      WriteSnapshot(ring_.number(), Now());
      ring_.Close(SlotUse::kClosed);
    }
    if (region_->exit_state.load() == kExiting && g_file.trouble() == 0)
      g_file.Write(ChunkKind::kEnd, kNoThread, nullptr, 0);
    Flush();
    NoteTrouble();
  }

 private:
  enum class Program { kRuns, kEnded };
  uint64_t Now() const { return MonotonicNs() - region_->started_ns; }

  void Flush() {
    g_file.Flush();
    if (ring_.on()) ring_.Commit(g_file.position());
  }

  bool ProcessEnded() {
    pollfd poll = {process_, POLLIN, 0};
    return RawCall(SYS_poll, Arg(&poll), 1, 0) > 0;
  }

  void Sleep() {
    const uint32_t seen = region_->kick.load(std::memory_order_acquire);
    if (seen != kick_) {
      kick_ = seen;
      return;
    }
    // About to end, or to become another program, whose recorder then waits for us.
    if (region_->exit_state.load() == kExiting) {
      pollfd poll = {process_, POLLIN, 0};
      RawCall(SYS_poll, Arg(&poll), 1, 2);
      return;
    }
    timespec round = {0, kRoundNs};
    if (region_->snapshot_every_ns != 0) {
      const uint64_t now = Now();
      const uint64_t left = next_snapshot_ns_ > now ? next_snapshot_ns_ - now : 0;
      if (left < kRoundNs) round.tv_nsec = static_cast<long>(left);
    }
    region_->scribe_sleeps.store(1, std::memory_order_seq_cst);
    RawCall(SYS_futex, Arg(&region_->kick), FUTEX_WAIT, seen, Arg(&round));
    region_->scribe_sleeps.store(0, std::memory_order_relaxed);
  }

  void DrainAll() {
    ScanIfWanted();
    const uint32_t used = region_->slots_used.load(std::memory_order_acquire);
    bool any = false;
    for (uint32_t i = 0; i < used; ++i) any |= Drain(region_->slots[i], i);
    if (any) {
      Flush();
      NoteTrouble();
      region_->drained.fetch_add(1, std::memory_order_acq_rel);
      if (region_->waiters.load(std::memory_order_acquire) != 0)
        RawCall(SYS_futex, Arg(&region_->drained), FUTEX_WAKE, 0x7fffffff);
    }
  }

  void CloseOpenRecords() {
    const uint32_t used = region_->slots_used.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < used; ++i) CloseOpenRecord(&region_->slots[i], RingOf(region_, i));
  }

  bool Drain(Slot& slot, uint32_t number) {
    const uint32_t state = slot.state.load(std::memory_order_acquire);
    if (state == kSlotFree) return false;
    const uint64_t head = slot.head.load(std::memory_order_acquire);
    uint64_t tail = slot.tail.load(std::memory_order_relaxed);
    const bool any = head != tail;
    while (tail < head) {
      if (ring_.on() && g_file.position() + kChunkRoom > limit_) {
        full_ = true;
        return any;
      }
      const uint8_t* begin = RingOf(region_, number) + (tail & (kRingSize - 1));
      const uint64_t to_end = kRingSize - (tail & (kRingSize - 1));
      const uint64_t most = head - tail < to_end ? head - tail : to_end;
      const uint64_t chunk = ring_.on() ? kSlotChunk : kMaxChunk;
      const uint64_t whole = WholeRecords(begin, most < chunk ? most : chunk);
      if (whole != 0 && ring_.on())
        g_checkpoint.Observe(number, begin, static_cast<uint32_t>(whole), g_file);
      if (whole != 0)
        g_file.Write(ChunkKind::kThread, slot.thread, begin, static_cast<uint32_t>(whole));
      // What follows the last record before the ring's end is a skip.
      tail += whole == 0 ? to_end : whole;
      slot.tail.store(tail, std::memory_order_release);
    }
    const bool any_branches = g_branch_rings != nullptr && DrainBranches(slot, number);
    if (state == kSlotEnded) Free(slot, number);
    return any || any_branches;
  }

  bool DrainBranches(const Slot& slot, uint32_t number) {
    BranchRing& ring = g_branch_rings->ring[number];
    BranchesHead& head = g_branches.head;
    head = {static_cast<BranchSource>(g_branch_rings->source.load()), {}, 0};
    const size_t size =
        TakeBranches(ring, BranchBytesOf(g_branch_rings, number), g_branches.bytes, head.position);
    if (size == 0) return false;
    g_file.Write(ChunkKind::kBranches, slot.thread, &g_branches,
                 static_cast<uint32_t>(sizeof(head) + size));
    return true;
  }

  // The bytes of the whole records at `begin`, up to a skip.
  static uint64_t WholeRecords(const uint8_t* begin, uint64_t size) {
    uint64_t at = 0;
    while (at + sizeof(RecordHead) <= size) {
      RecordHead head;
      std::memcpy(&head, begin + at, sizeof(head));
      if (static_cast<uint16_t>(head.kind) == 0 || head.size < sizeof(head) ||
          at + head.size > size)
        break;
      at += head.size;
    }
    return at;
  }

  void Free(Slot& slot, uint32_t number) {
    if (ring_.on()) g_checkpoint.ThreadGone(number);
    region_->lost_records.fetch_add(slot.lost.exchange(0));
    if (g_branch_rings != nullptr) {
      BranchRing& ring = g_branch_rings->ring[number];
      lost_branches_ += ring.lost.exchange(0);
      ring.head.store(0, std::memory_order_relaxed);
      ring.tail.store(0, std::memory_order_relaxed);
    }
    slot.head.store(0, std::memory_order_relaxed);
    slot.tail.store(0, std::memory_order_relaxed);
    slot.state.store(kSlotFree, std::memory_order_release);
    region_->free_slots[number / 64].fetch_or(uint64_t{1} << (number % 64),
                                              std::memory_order_acq_rel);
  }

  // --- Snapshots
  //
  // A thread draws the numbers of its actions before it writes them down, so that another may have written what came of
  // them already. A snapshot is consistent if nothing like that is missing from it: every thread is looked at, after the
  // time of the snapshot, in a moment when all that it has drawn stands in its ring or is told by `pending`; and then
  // the rings are emptied. Nothing is stopped for it.

  bool Settle(Program program) {
    const uint32_t used = region_->slots_used.load(std::memory_order_acquire);
    const uint64_t began = MonotonicNs();
    g_calls.Begin(used);
    while (true) {
      const bool all =
          g_calls.LookAtAll(region_, program == Program::kRuns ? SettledCalls::Threads::kRun
                                                               : SettledCalls::Threads::kEnded);
      full_ = false;
      DrainAll();
      if (full_ || (!all && MonotonicNs() - began > kSettleNs)) return false;
      if (all) return true;
      timespec pause = {0, kSettlePauseNs};
      RawCall(SYS_nanosleep, Arg(&pause), 0);
    }
  }

  // The calls that threads are in, then the record that says so. False: it could not be.
  bool WriteSettled(Program program) {
    if (!Settle(program)) return false;
    SettledCalls::InSlot in;
    if (ring_.on()) in = {&g_checkpoint, ring_.end()};
    if (!g_calls.Write(region_, g_file, in, Now())) return false;
    Flush();
    return true;
  }

  void WriteSnapshot(uint32_t number, uint64_t until) {
    Snapshot record = {};
    record.head = {RecordKind::kSnapshot, 0, sizeof(record)};
    record.number = number;
    record.start_ns = last_snapshot_ns_;
    record.end_ns = until;
    last_snapshot_ns_ = until;
    g_file.Write(ChunkKind::kCheckpoint, kNoThread, &record, sizeof(record));
    Flush();
  }

  // Its number; 0 if it could not be taken. A file of slots goes on in the next slot.
  uint32_t TakeSnapshot(Program program) {
    const uint64_t until = Now();
    const bool was_full = full_;
    limit_ = ring_.on() ? ring_.end() - kEndRoom : 0;
    const bool settled = WriteSettled(program);
    const uint32_t number = ring_.on() ? ring_.number() : snapshots_ + 1;
    if (settled) {
      WriteSnapshot(number, until);
      ++snapshots_;
    } else if (ring_.on() && !was_full && !full_) {
      limit_ = ring_.end() - kClosingRoom;
      return 0;  // the slot has room: the next one may succeed
    } else {
      ++without_cut_;
    }
    if (ring_.on()) {
      ring_.Close(settled ? SlotUse::kClosed : SlotUse::kWithoutCut);
      BeginSlot(program);
    }
    full_ = false;
    return settled ? number : 0;
  }

  void BeginSlot(Program program) {
    ring_.Next();
    g_file.Seek(ring_.begin());
    limit_ = ring_.end() - kClosingRoom;
    full_ = false;
    g_checkpoint.Begin(ring_.number(), region_->slots_used.load(std::memory_order_acquire), g_file);
    if (ring_.number() == 1) return;  // there is nothing before it
    g_modules.Forget();
    ScanModules();
    Flush();
    base_wanted_ = !WriteSettled(program);
  }

  void ServeSnapshots() {
    const uint32_t wanted = region_->snapshots_wanted.load(std::memory_order_acquire);
    if (wanted != region_->snapshots_served.load(std::memory_order_relaxed)) {
      region_->last_snapshot.store(TakeSnapshot(Program::kRuns), std::memory_order_release);
      region_->snapshots_served.store(wanted, std::memory_order_release);
      RawCall(SYS_futex, Arg(&region_->snapshots_served), FUTEX_WAKE, 0x7fffffff);
    }
    requests_.Open(region_->pid);
    const int connection = requests_.Accept();
    if (connection >= 0) requests_.Answer(connection, TakeSnapshot(Program::kRuns), region_->file);
    const uint64_t every = region_->snapshot_every_ns, now = Now();
    if (every != 0 && now >= next_snapshot_ns_) {
      TakeSnapshot(Program::kRuns);
      next_snapshot_ns_ += (now - next_snapshot_ns_) / every * every + every;
    }
  }

  // How the threads ended that could not say so themselves.
  void WriteEnds() {
    const uint32_t used = region_->slots_used.load(std::memory_order_acquire);
    const bool exiting = region_->exit_state.load() == kExiting;
    const uint64_t now = MonotonicNs() - region_->started_ns;
    for (uint32_t i = 0; i < used; ++i) {
      Slot& slot = region_->slots[i];
      if (slot.state.load() != kSlotUsed) continue;
      struct {
        ThreadEnd end;
        Action action[kMaxActions];
      } record = {};
      const Pending& pending = slot.pending;
      // Created, but the process ended before it came to run.
      if (slot.head.load() == 0) WriteStart(slot, exiting ? region_->exit_ns.load() : now);
      record.end.end_ns = exiting ? region_->exit_ns.load() : now;
      record.end.object = slot.object;
      Op op = exiting ? Op::kProcessExit : Op::kKilled;
      if (exiting && slot.thread == region_->exit_thread.load()) {
        op = Op::kExit;
        record.end.site.address = region_->exit_site.load();
      } else if (slot.head.load() != 0 && pending.at_head.load() == slot.head.load()) {
        op = pending.op;
        record.end.inside = 1;
        record.end.object = pending.object;
        record.end.end_ns = pending.end_ns;
        record.end.site.address = pending.site;
        const uint16_t actions = pending.actions.load();
        record.end.actions = actions <= kMaxActions ? actions : 0;
        for (uint16_t a = 0; a < record.end.actions; ++a) record.action[a] = pending.action[a];
      }
      if (record.end.end_ns < slot.last_start_ns) record.end.end_ns = slot.last_start_ns;
      record.end.head = {
          RecordKind::kThreadEnd, static_cast<uint16_t>(op),
          static_cast<uint32_t>(sizeof(ThreadEnd) + record.end.actions * sizeof(Action))};
      g_file.Write(ChunkKind::kThread, slot.thread, &record, record.end.head.size);
      region_->lost_records.fetch_add(slot.lost.exchange(0));
    }
  }

  void WriteStart(Slot& slot, uint64_t start_ns) {
    struct {
      ThreadStart start;
      Action action;
    } record = {};
    record.start.head = {RecordKind::kThreadStart, 1, sizeof(record)};
    record.start.thread = slot.thread;
    record.start.parent = slot.parent;
    record.start.start_ns = slot.last_start_ns = start_ns;
    record.start.object = slot.object;
    record.action = {slot.object, Role::kAcquireAll, 0, kBegun};
    g_file.Write(ChunkKind::kThread, slot.thread, &record, sizeof(record));
  }

  void WriteLosses() {
    WriteLoss("snapshots without a consistent cut", without_cut_);
    WriteLoss("records of calls", region_->lost_records.load());
    WriteLoss("records of calls in signal handlers", region_->lost_in_handlers.load());
    WriteLoss("threads", region_->lost_threads.load());
    WriteLoss("synchronization objects", region_->lost_objects.load());
    for (uint32_t i = 0; g_branch_rings != nullptr && i < region_->slots_used.load(); ++i)
      lost_branches_ += g_branch_rings->ring[i].lost.load();
    WriteLoss("branches", lost_branches_);
  }
  void WriteLoss(const char* name, uint64_t count) {
    if (count == 0) return;
    struct {
      Lost lost;
      char text[64];
    } record = {};
    const size_t length = std::strlen(name);
    std::memcpy(record.text, name, length);
    record.lost.head = {RecordKind::kLost, static_cast<uint16_t>(length),
                        static_cast<uint32_t>(sizeof(Lost) + (length + 7) / 8 * 8)};
    record.lost.count = count;
    g_file.Write(ChunkKind::kProcess, kNoThread, &record, record.lost.head.size);
  }

  void NoteTrouble() {
    if (g_file.trouble() == 0) return;
    region_->broken.store(static_cast<uint32_t>(g_file.trouble()));
    head_->trouble = static_cast<uint32_t>(g_file.trouble());
  }

  void ScanIfWanted() {
    if (region_->modules_wanted.load(std::memory_order_acquire) !=
        region_->modules_seen.load(std::memory_order_relaxed))
      ScanModules();
  }
  void ScanModules() {
    const uint32_t wanted = region_->modules_wanted.load(std::memory_order_acquire);
    g_modules.Scan(region_, g_file, MonotonicNs() - region_->started_ns);
    region_->modules_seen.store(wanted, std::memory_order_release);
    RawCall(SYS_futex, Arg(&region_->modules_seen), FUTEX_WAKE, 0x7fffffff);
  }

  Region* region_;
  SharedHead* head_;
  int process_;
  uint32_t generation_;
  uint32_t kick_ = 0;
  // Of a file of slots: the one being written, how far, and whether records wait that do not fit.
  SlotRing ring_;
  uint64_t limit_ = 0;
  bool full_ = false;
  bool base_wanted_ = false;  // it has begun, and does not say yet what came before it
  SnapshotRequests requests_;
  uint32_t snapshots_ = 0;
  uint64_t next_snapshot_ns_ = 0, last_snapshot_ns_ = 0;
  uint64_t without_cut_ = 0;
  uint64_t lost_branches_ = 0;
};

// Nothing of the program's is kept: its terminal, its session, its directory, its descriptors. A pipe that the program
// closed must not stay open through us.
void LeaveProgram(int keep[3]) {
  RawCall(SYS_setsid);
  RawCall(SYS_chdir, Arg("/"));
  uint64_t all = ~uint64_t{0};
  RawCall(SYS_rt_sigprocmask, SIG_SETMASK, Arg(&all), 0, sizeof(all));
  RawCall(SYS_prctl, PR_SET_NAME, Arg("wherefore-scrib"));
  for (int i = 0; i < 3; ++i) {  // out of the way, then down to 0, 1, 2
    const long moved = RawCall(SYS_fcntl, keep[i], F_DUPFD, 64);
    if (moved >= 0) keep[i] = static_cast<int>(moved);
  }
  for (int i = 0; i < 3; ++i) {
    RawCall(SYS_dup2, keep[i], i);
    keep[i] = i;
  }
  if (RawCall(SYS_close_range, 3, ~0u, 0) < 0) {
    for (int fd = 3; fd < 65536; ++fd) RawCall(SYS_close, fd);
  }
}

[[noreturn]] void ScribeMain(Region* region, int file, SharedHead* head, int process, int maps) {
  int keep[3] = {file, process, maps};
  LeaveProgram(keep);
  const void* const needed[] = {region, head, g_branch_rings};
  // At data depth this library's own variables lie in the program's shared memory; it stays.
  if (!data::Running()) DropProgramMemory(needed, sizeof(needed) / sizeof(needed[0]));
  region->scribe.store(static_cast<uint32_t>(RawCall(SYS_getpid)));
  g_file.Open(keep[0]);
  g_modules.Open(keep[2]);
  Scribe(region, head, keep[1]).Run();
  RawCall(SYS_flock, keep[0], LOCK_UN);
  while (true) RawCall(SYS_exit_group, 0);
}

}  // namespace

void KickScribe(Region* region) {
  region->kick.fetch_add(1, std::memory_order_seq_cst);
  if (region->scribe_sleeps.load(std::memory_order_seq_cst) != 0)
    RawCall(SYS_futex, Arg(&region->kick), FUTEX_WAKE, 1);
}

namespace {

bool ForkScribe(Region* region, int file, SharedHead* head) {
  // Opened here, where it surely may: a program that changes its user later closes /proc to us.
  const long process = RawCall(SYS_pidfd_open, region->pid, 0);
  const long maps = RawCall(SYS_openat, AT_FDCWD, Arg("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
  // Without an exit signal: not even the child in between is seen by the program's wait or its SIGCHLD handler.
  const long child = process < 0 ? process : RawCall(SYS_clone, 0);
  if (child == 0) {
    const long grandchild = RawCall(SYS_clone, 0);
    if (grandchild == 0)
      ScribeMain(region, file, head, static_cast<int>(process), static_cast<int>(maps));
    while (true) RawCall(SYS_exit_group, grandchild < 0 ? 1 : 0);
  }
  int status = 1;
  if (child > 0) {
    while (RawCall(SYS_wait4, child, Arg(&status), __WALL) == -EINTR) {
    }
  }
  if (process >= 0) RawCall(SYS_close, process);
  if (maps >= 0) RawCall(SYS_close, maps);
  return status == 0;
}

struct ScribeArguments {
  Region* region;
  int file;
  SharedHead* head;
};

}  // namespace

bool StartScribe(Region* region, int file, SharedHead* head) {
  // Emulated it would be slow, and see the emulator's idea of the program's memory.
  if (UnderEmulator()) {
    ScribeOrder order = {region, head, g_branch_rings, file, 0};
    Mark(kMarkScribe, Arg(&order));
    return order.started != 0;
  }
  if (!data::Running()) return ForkScribe(region, file, head);
  // The stack is shared memory there: a process made on it would write over its parent's.
  ScribeArguments arguments = {region, file, head};
  return data::CallOnPrivateStack(
             [](void* given) -> long {
               auto* all = static_cast<ScribeArguments*>(given);
               return ForkScribe(all->region, all->file, all->head) ? 1 : 0;
             },
             &arguments) != 0;
}

}  // namespace wf::recorder
