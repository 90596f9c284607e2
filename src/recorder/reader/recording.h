// A recording in memory: what one .cpg file says, thread by thread, before any analysis.
//
// Sub-computations lie in one array, those of thread 0 first, each thread's in order; a SubId is a place in it. Objects
// are told by their place in `objects`, too. Everything is as the file has it, but for what a damaged or hostile file
// could not mean: that is left out and counted in `lost`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "recorder/format/records.h"
#include "recorder/reader/chunk_reader.h"

namespace wf::recorder {

using SubId = uint32_t;
constexpr uint32_t kNone = UINT32_MAX;    // no sub-computation, no object
constexpr int64_t kNotEnded = INT64_MAX;  // end of what was running when the recording stopped
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMaxPage = uint64_t{1} << 52;  // pages are below

// [begin, end) of one of the recording's arrays.
struct Slice {
  uint32_t begin = 0, end = 0;
  uint32_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

struct SubComputation {
  uint32_t thread = 0;
  uint32_t index = 0;
  uint32_t written_index = 0;  // as the recorder counted when it began: cuts may be left out since
  int64_t start_ns = 0;
  int64_t end_ns = kNotEnded;
  int64_t wait_ns = 0;
  uint64_t site = 0;        // address after the call that ended it; 0: unknown
  uint32_t object = kNone;  // of that call
  Op op = Op::kNone;        // that ended it; kNone: it was running when the recording stopped
  uint16_t flags = 0;       // CutFlags
  bool inside = false;      // the call had not returned when the recording stopped
  Slice actions;            // of that call: releases are this one's, acquires open the next
  Slice pages;
  Slice transfers;
};

struct ThreadFacts {
  uint32_t id = 0;
  uint32_t parent = kNoThread;
  uint32_t tid = 0;
  uint32_t object = kNone;
  std::string name;
  int64_t start_ns = 0;
  bool started = false;  // false: its beginning is missing, and it has no sub-computations
  bool ended = false;
  uint32_t first_index = 0;  // of its first one here: those before are not in the file any more
  Slice subs;
  Slice actions;  // acquires that opened its first sub-computation
  uint32_t count() const { return first_index + subs.size(); }  // those before included
  // Where its sub-computation of this index is, or would be.
  SubId Place(uint32_t index) const {
    return subs.begin + (index > first_index ? index - first_index : 0);
  }
};

struct ObjectFacts {
  uint32_t id = 0;  // of the file
  ObjectKind kind{};
  uint32_t thread = kNoThread;  // of a thread
  uint64_t address = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = kNotEnded;
};

// Pages first .. first + count - 1. Runs of one sub-computation ascend, do not overlap, and neighbours differ.
struct PageRuns {
  uint64_t first = 0;
  uint64_t count = 0;
  bool written = false;
};

struct TransferFacts {
  SubId sub = kNone;
  TransferKind kind{};
  uint16_t flags = 0;
  uint32_t op = 0;
  uint64_t begin = 0, end = 0;
  uint64_t address = 0;
  uint64_t stream = 0;
  int64_t time_ns = 0;
  uint32_t name = 0;  // in Recording::names
  bool output() const { return (flags & kOutput) != 0; }
  bool mapped() const { return (flags & kMapped) != 0; }
};

struct ModuleFacts {
  uint64_t begin = 0, end = 0, offset = 0;
  int64_t from_ns = 0, until_ns = kNotEnded;
  uint32_t protection = 0;
  uint32_t path = 0;  // in Recording::names
};

struct AllocationFacts {
  uint64_t address = 0, size = 0, site = 0;
  int64_t from_ns = 0, until_ns = kNotEnded;
  uint32_t thread = 0;
};

// From here on its thread works for this request.
struct TraceMark {
  SubId sub = kNone;
  uint64_t trace_high = 0, trace_low = 0, span = 0;
  int64_t time_ns = 0;
};

struct CrashFacts {
  uint32_t signal = 0;
  uint32_t thread = 0;
  SubId sub = kNone;
  uint64_t address = 0, site = 0;
  int64_t time_ns = 0;
};

struct ForkFacts {
  uint32_t number = 0, pid = 0;
};

struct SnapshotFacts {
  uint32_t number = 0;
  int64_t start_ns = 0, end_ns = 0;
  // Of each thread how many there were when it was taken; empty: unknown, the times alone tell.
  std::vector<uint32_t> written;
};

// Branches as their source wrote them, of one thread; records.h and docs/reference/cpg-format.md say how to read them.
struct BranchBytes {
  uint32_t thread = 0;
  std::string bytes;
};

struct Recording {
  std::string file;
  uint32_t version = 0;
  uint32_t depth = kSchedule;
  bool complete = false;
  uint64_t started_unix_ns = 0;
  uint32_t pid = 0;
  std::string host;
  uint32_t slots = 0;          // of a file of slots
  uint32_t only_snapshot = 0;  // of a copy of a snapshot: its number

  std::vector<ThreadFacts> threads;  // by id, none missing
  std::vector<SubComputation> subs;
  std::vector<ObjectFacts> objects;  // by id
  std::vector<Action> actions;       // `object` is a place in `objects`, or kNone
  std::vector<PageRuns> pages;
  std::vector<TransferFacts> transfers;
  std::vector<ModuleFacts> modules;          // in order of their times
  std::vector<AllocationFacts> allocations;  // by address, then time
  std::vector<TraceMark> traces;             // by sub-computation
  std::vector<ForkFacts> forks;
  std::vector<SnapshotFacts> snapshots;  // by number
  std::vector<BranchBytes> branches;     // if asked for; in the order of the file
  std::optional<CrashFacts> crash;
  std::vector<std::string> names;
  std::map<std::string, uint64_t> lost;  // what is missing, by name

  bool has(Depth what) const { return (depth & what) != 0; }
  // The sub-computation "3.14"; kNone if there is none.
  SubId Find(uint32_t thread, uint32_t index) const;
  const std::string& NameOf(const TransferFacts& transfer) const { return names[transfer.name]; }
};

struct ReadOptions {
  enum class Branches { kLeave, kKeep };
  Branches branches = Branches::kLeave;
  std::optional<uint32_t> snapshot;  // of a file of slots: up to this one; else up to the last
};

Result<Recording> ReadRecording(const std::string& path, const ReadOptions& options = {});
// `name` is for messages.
Result<Recording> ReadRecording(ReadAt read, const std::string& name,
                                const ReadOptions& options = {});

std::string SubName(const SubComputation& sub);  // "3.14"
// Of "3.14"; nothing if it is not so written.
std::optional<std::pair<uint32_t, uint32_t>> ParseSubName(std::string_view text);

}  // namespace wf::recorder
