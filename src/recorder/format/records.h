// The one definition of what the recorder writes into a .cpg file and the reader reads. Plain structures,
// little endian, C++17, nothing but libc's headers, because it is compiled into the recorded program too.
// docs/reference/cpg-format.md says the same in prose.
//
// A file is a FileHead, then chunks. A chunk is a ChunkHead and its payload, compressed separately, so that a
// truncated file can be read up to its last complete chunk. The records of one thread are in order over its
// chunks. The order between threads is not given by the file, but by the sequence numbers of the actions and
// the clocks computed from them.
#pragma once

#include <cstdint>

namespace wf::recorder {

constexpr char kMagic[8] = {'W', 'F', 'C', 'P', 'G', '\r', '\n', 0};
constexpr uint32_t kVersion = 1;

// Bits of FileHead::depth; the schedule is always recorded.
enum Depth : uint32_t { kSchedule = 1, kData = 2, kControl = 4 };

struct FileHead {
  char magic[8];
  uint32_t version;
  uint32_t depth;
  uint64_t started_unix_ns;
  uint64_t started_ns;  // CLOCK_MONOTONIC; every other time in the file is relative to it
  uint32_t pid;
  uint32_t head_size;  // where the chunks begin; a newer version may have a longer head
};

// The head that the recorder writes; head_size is its size. The processes that write F.cpg and F.cpg.N share
// the counters at its end through the file: they change while the recording runs.
struct SharedHead {
  FileHead head;
  uint32_t children;  // in F.cpg: the last number given to a child
  // How often the process of this file began to record: exec overwrites earlier contents.
  uint32_t generation;
  uint32_t trouble;        // errno of the error that stopped the writing; 0: none
  uint32_t slots;          // number of slots of a file of slots; 0: chunks to the end of the file
  uint32_t overwritten;    // snapshots whose slot was reused before it was released
  uint32_t only_snapshot;  // in a copy of one snapshot: its number; else 0
  uint32_t denied;         // in F.cpg: outputs that the policy denied
  uint32_t reported;
};

// A file of slots (`record --slots N`) never grows beyond them. Its head is kSlotHead bytes: the SharedHead
// and a SlotEntry for each slot. The chunks of slot i begin at i * kSlotBytes + kSlotHead and take `used`
// bytes. A slot is one snapshot: it begins with a checkpoint of what its records refer to and ends with a
// Snapshot record.
constexpr uint64_t kSlotBytes = 4 << 20;
constexpr uint64_t kSlotHead = 4096;
constexpr uint32_t kMostSlots = 100;
enum class SlotUse : uint32_t { kEmpty = 0, kWriting = 1, kClosed = 2, kWithoutCut = 3 };
struct SlotEntry {
  uint32_t number;    // of the snapshot, from 1; 0: the slot holds nothing complete
  uint32_t released;  // set by the reader: the number of the snapshot it no longer needs
  SlotUse use;
  uint32_t unused;
  uint64_t used;
  uint64_t unused_too;
};
static_assert(sizeof(SlotEntry) == 32);

enum class ChunkKind : uint32_t {
  kThread = 1,      // complete records of one thread
  kProcess = 2,     // records that belong to no thread: modules found at the start, losses
  kBranches = 3,    // control depth: the branches of one thread, as written by their source
  kEnd = 4,         // the recording ended normally; empty
  kCheckpoint = 5,  // ThreadBase, Inside, Settled, Snapshot
};

enum class Codec : uint32_t { kNone = 0, kLz4 = 1 };

struct ChunkHead {
  uint32_t mark;  // kChunkMark
  ChunkKind kind;
  uint32_t thread;
  Codec codec;
  uint32_t raw_size;
  uint32_t stored_size;
  uint64_t checksum;  // FNV-1a, 64 bits, of the stored bytes
};
constexpr uint32_t kChunkMark = 0x6b6e6863;  // "chnk"

// Every record begins with this head; size includes the head and is a multiple of 8. A reader skips kinds it
// does not know.
enum class RecordKind : uint16_t {
  kThreadStart = 1,
  kCut = 2,
  kThreadEnd = 3,
  kObject = 4,
  kObjectEnd = 5,
  kThreadName = 6,
  kModule = 7,
  kPages = 8,
  kTransfer = 9,
  kAllocation = 10,
  kRelease = 11,  // of memory
  kFork = 12,
  kTrace = 13,
  kLost = 14,
  kCrash = 15,
  kSnapshot = 16,
  kThreadBase = 17,
  kInside = 18,
  kSettled = 19,
  kHost = 24,
  kMemory = 25,
};

struct RecordHead {
  RecordKind kind;
  uint16_t detail;  // its meaning depends on the kind
  uint32_t size;
};

// The calls that end a sub-computation. The reader knows their names.
enum class Op : uint16_t {
  kNone = 0,
  kMutexLock,
  kMutexTrylock,
  kMutexTimedlock,
  kMutexClocklock,
  kMutexUnlock,
  kSpinLock,
  kSpinTrylock,
  kSpinUnlock,
  kRwlockRdlock,
  kRwlockTryrdlock,
  kRwlockTimedrdlock,
  kRwlockClockrdlock,
  kRwlockWrlock,
  kRwlockTrywrlock,
  kRwlockTimedwrlock,
  kRwlockClockwrlock,
  kRwlockUnlock,
  kCondWait,
  kCondTimedwait,
  kCondClockwait,
  kCondSignal,
  kCondBroadcast,
  kBarrierWait,
  kSemWait,
  kSemTrywait,
  kSemTimedwait,
  kSemClockwait,
  kSemPost,
  kOnce,
  kCreate,
  kJoin,
  kTryjoin,
  kTimedjoin,
  kClockjoin,
  kMtxLock,
  kMtxTrylock,
  kMtxTimedlock,
  kMtxUnlock,
  kCndWait,
  kCndTimedwait,
  kCndSignal,
  kCndBroadcast,
  kThrdCreate,
  kThrdJoin,
  kCallOnce,
  kFork,
  kVfork,
  kFutexWait,
  kFutexWake,
  // How the last sub-computation of a thread ended.
  kThreadExit,
  kExit,
  kProcessExit,
  kKilled,
};

enum class ObjectKind : uint16_t {
  kMutex = 1,
  kSpin,
  kRwlock,
  kCond,
  kBarrier,
  kSemaphore,
  kOnce,
  kThread,
  kFutex,
};

// What a call did to the clock of an object. Sequence numbers are drawn from the object's own counter, at a
// moment when the order is decided (a lock's while it is held), so they give the order in which the actions
// really happened.
enum class Role : uint16_t {
  kReleaseAll = 1,      // seen by every acquire
  kReleaseToWriters,    // unlock of a read lock: seen by kAcquireAll only
  kAcquireAll,          // the opened sub-computation acquires every earlier release of the object
  kAcquireFromWriters,  // read lock: acquires earlier kReleaseAll only
  kReleaseRound,  // barrier: release and acquire of one round, whose number is the sequence number
  kAcquireRound,
};

struct Action {
  uint32_t object;
  Role role;
  uint16_t unused;
  // Releases come before acquires of the same call; an acquire sees releases with a lower one.
  uint64_t sequence;
};

// An address in the program. The reader resolves it through the modules mapped at that time.
struct Site {
  uint64_t address;  // of the instruction after the call; 0 if unknown
};

// The first record of a thread. Its first sub-computation starts at `start_ns`.
struct ThreadStart {
  RecordHead head;  // detail: number of actions (the acquire of its creation)
  uint32_t thread;
  uint32_t parent;  // kNoThread for main, and for threads that libc created for itself
  uint64_t start_ns;
  uint32_t tid;
  uint32_t object;  // the thread as an object; main has one too: others may join it
  // Action actions[]
};
constexpr uint32_t kNoThread = 0xffffffff;

// One call that ended the running sub-computation and began the next.
struct Cut {
  RecordHead head;  // detail: Op
  uint32_t object;  // 0 if none (fork)
  uint16_t actions;
  uint16_t flags;     // CutFlags
  uint64_t end_ns;    // when the call was entered
  uint64_t start_ns;  // when the call returned
  uint64_t wait_ns;
  Site site;
  // Action actions[], in the order in which they happened
};
// kIfItAdds: pthread_once that ran nothing. The reader leaves the cut out if its acquires add nothing to the clock.
enum CutFlags : uint16_t { kTimedOut = 1, kFailed = 2, kIfItAdds = 4 };

// A call that had not returned when the recording stopped becomes a ThreadEnd with that call's op and
// `inside` set; its actions are those that had happened by then.
struct ThreadEnd {
  RecordHead head;  // detail: Op
  uint32_t object;
  uint16_t actions;
  uint16_t inside;  // 1: end_ns is the time when the call was entered
  uint64_t end_ns;
  Site site;
  // Action actions[]
};

struct Object {
  RecordHead head;  // detail: ObjectKind
  uint32_t id;      // from 1, in order of first use
  uint32_t thread;  // kThread: which
  uint64_t address;
  uint64_t time_ns;
};

struct ObjectEnd {
  RecordHead head;
  uint32_t id;
  uint32_t unused;
  uint64_t time_ns;
};

// Followed by the name, without a terminator, padded with zeros; kNoThread: the program's
// name.
struct ThreadName {
  RecordHead head;  // detail: bytes of the name
  uint32_t thread;
  uint32_t unused;
};

struct Host {       // where it ran; followed by the host's name, padded with zeros
  RecordHead head;  // detail: bytes of the name
};

struct Module {     // a mapping of a file, or its end; followed by the path
  RecordHead head;  // detail: bytes of the path; 0: what was mapped here is gone
  uint64_t begin;
  uint64_t end;
  uint64_t offset;  // in the file
  uint64_t time_ns;
  uint32_t protection;
  uint32_t unused;
};

// The pages touched by the sub-computation that the next Cut or ThreadEnd of the thread ends. Each run is
// `begin` (page number, address / 4096) and `count` with the top bit set if the pages were written; they
// ascend. Several records of one sub-computation are combined. Written pages count as read too.
struct PageRun {
  uint64_t first_page;
  uint64_t count_and_written;
};
constexpr uint64_t kWritten = uint64_t{1} << 63;
struct Pages {
  RecordHead head;
  uint64_t runs;
  // PageRun runs[]
};

// Bytes that came in or went out during the running sub-computation; the name follows.
enum class TransferKind : uint16_t {
  kFile = 1,
  kStdin,
  kStdout,
  kStderr,
  kPipe,
  kSocket,
  kArgument,
};
enum TransferFlags : uint16_t { kOutput = 1, kMapped = 2, kDenied = 4, kReported = 8 };
struct Transfer {
  RecordHead head;  // detail: bytes of the name
  TransferKind kind;
  uint16_t flags;
  uint32_t op;  // system call number; 0 for arguments
  uint64_t begin;
  uint64_t end;      // half open; streams start at 0
  uint64_t address;  // of the buffer or mapping, 0 if unknown
  uint64_t time_ns;
  // Equal for the two ends of one pipe or socket pair, device and inode of a file; 0 if unknown.
  uint64_t stream;
};

// What a thread allocated and released. Programs do this millions of times, so the events are packed
// (memory_events.h).
struct Memory {
  RecordHead head;  // detail: number of events
  // varints
};

// The same, one record per event, as written before Memory existed.
struct Allocation {
  RecordHead head;
  uint64_t address;
  uint64_t size;
  uint64_t time_ns;
  Site site;
};

struct Release {
  RecordHead head;
  uint64_t address;
  uint64_t time_ns;
};

struct Fork {  // a child was recorded to F.cpg.NUMBER
  RecordHead head;
  uint32_t number;
  uint32_t pid;
};

struct Trace {  // from here on the thread works for this request; all zeros: for none
  RecordHead head;
  uint64_t trace_high;
  uint64_t trace_low;
  uint64_t span;
  uint64_t time_ns;
};

struct Lost {       // what was lost, and how much, so that no loss is silent
  RecordHead head;  // detail: bytes of the name of the lost item, which follows
  uint64_t count;
};

struct Crash {
  RecordHead head;  // detail: signal
  uint32_t thread;
  uint32_t unused;
  uint64_t address;  // that faulted, 0 if none
  uint64_t time_ns;
  Site site;
};

// Everything that happened until end_ns can be read by now. The reader makes a consistent cut of it, so the
// recorder stops nothing.
struct Snapshot {
  RecordHead head;
  uint32_t number;
  uint32_t unused;
  uint64_t start_ns;  // where the previous one ended
  uint64_t end_ns;
};

// A thread that was alive when a slot began, and where it was; its name follows.
struct ThreadBase {
  RecordHead head;  // detail: bytes of the name
  uint32_t thread;
  uint32_t parent;
  uint64_t start_ns;
  uint32_t tid;
  uint32_t object;
  uint32_t index;  // of its running sub-computation
  uint32_t unused;
  uint64_t running_since_ns;
  uint64_t trace_high, trace_low, span;
};

// A thread is in a call that has not returned; the actions are those that had happened by then.
struct Inside {
  RecordHead head;  // detail: Op
  uint32_t thread;
  uint32_t object;
  uint32_t actions;
  uint32_t unused;
  uint64_t end_ns;
  Site site;
  // Action actions[]
};

// For every action whose number had been drawn at time_ns, the record comes before this one, or is in the
// Inside records that precede it.
struct Settled {
  RecordHead head;
  uint64_t time_ns;
};

static_assert(sizeof(FileHead) == 40 && sizeof(SharedHead) == 72 && sizeof(ChunkHead) == 32 &&
              sizeof(RecordHead) == 8 && sizeof(Action) == 16 && sizeof(ThreadStart) == 32 &&
              sizeof(Cut) == 48 && sizeof(ThreadEnd) == 32 && sizeof(Object) == 32 &&
              sizeof(Module) == 48 && sizeof(Pages) == 16 && sizeof(Transfer) == 56);

}  // namespace wf::recorder
