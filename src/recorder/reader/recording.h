// A recording in memory: what one .cpg file says, thread by thread, before any analysis.
//
// Sub-computations are in one array, those of thread 0 first, each thread's in order; a SubId is an index in
// it. Objects are identified by their index in `objects` too. Everything is as in the file, except for
// impossible values of a damaged or hostile file, which are left out and counted in `lost`.
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
constexpr int64_t kNotEnded = INT64_MAX;  // end of what ran when the recording stopped
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMaxPage = uint64_t{1} << 52;  // page numbers are below this

// [begin, end) of one of the recording's arrays.
struct Slice {
  uint32_t begin = 0, end = 0;
  uint32_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

struct SubComputation {
  uint32_t thread = 0;
  uint32_t index = 0;
  uint32_t written_index = 0;  // as numbered by the recorder; cuts may have been removed since
  int64_t start_ns = 0;
  int64_t end_ns = kNotEnded;
  int64_t wait_ns = 0;
  uint64_t site = 0;        // address after the call that ended it; 0: unknown
  uint32_t object = kNone;  // the object of that call
  Op op = Op::kNone;    // the call that ended it; kNone: it was running when the recording stopped
  uint16_t flags = 0;   // CutFlags
  bool inside = false;  // the call had not returned when the recording stopped
  Slice actions;        // of that call: releases belong to this one, acquires open the next
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
  uint32_t first_index = 0;  // of its first one here: the file has no earlier ones
  Slice subs;
  Slice actions;  // acquires that opened its first sub-computation
  uint32_t count() const { return first_index + subs.size(); }  // including earlier ones
  // The index of this sub-computation in the array, or where it would be.
  SubId Place(uint32_t index) const {
    return subs.begin + (index > first_index ? index - first_index : 0);
  }
};

struct ObjectFacts {
  uint32_t id = 0;  // in the file
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
  // For each thread, how many there were when it was taken; empty: unknown, only the times show it.
  std::vector<uint32_t> written;
};

// The branches of one thread as written by their source; records.h and docs/reference/cpg-format.md describe
// the format.
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
  uint32_t slots = 0;          // for a file of slots
  uint32_t only_snapshot = 0;  // for a copy of a snapshot: its number

  std::vector<ThreadFacts> threads;  // by id, none missing
  std::vector<SubComputation> subs;
  std::vector<ObjectFacts> objects;  // by id
  std::vector<Action> actions;       // `object` is an index in `objects`, or kNone
  std::vector<PageRuns> pages;
  std::vector<TransferFacts> transfers;
  std::vector<ModuleFacts> modules;          // in order of their times
  std::vector<AllocationFacts> allocations;  // by address, then time
  std::vector<TraceMark> traces;             // by sub-computation
  std::vector<ForkFacts> forks;
  std::vector<SnapshotFacts> snapshots;  // by number
  std::vector<BranchBytes> branches;     // on request; in the order of the file
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
  std::optional<uint32_t> snapshot;  // for a file of slots: up to this one; else up to the last
};

Result<Recording> ReadRecording(const std::string& path, const ReadOptions& options = {});
// `name` is for messages.
Result<Recording> ReadRecording(ReadAt read, const std::string& name,
                                const ReadOptions& options = {});

std::string SubName(const SubComputation& sub);  // "3.14"
// Parses "3.14"; empty if the text has another form.
std::optional<std::pair<uint32_t, uint32_t>> ParseSubName(std::string_view text);

}  // namespace wf::recorder
