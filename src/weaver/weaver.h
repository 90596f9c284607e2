// Weaving: a query's advice goes into running processes as eBPF programs at uprobes, counts there in the
// kernel's own maps, and leaves no trace when it is removed.
//
//   WF_ASSIGN(auto woven, Woven::Weave(program, definitions, target, options));
//   while (!stop) {
//     woven->Poll(milliseconds);            // several times an interval
//     if (interval is over) woven->Collect(results);
//   }
//   woven->Unweave(); woven->Collect(results);   // the rest
//
// Probes belong to the descriptors of this object: they go when it is destroyed or this process ends.
//
// Thread safety: none; distinct objects from distinct threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "advice/program.h"
#include "advice/results.h"
#include "base/result.h"
#include "weaver/tracepoint_file.h"

namespace wf::weaver {

// What to weave. Both empty: every process that the definitions' locations name; then a location in a library
// must name its `exe`.
struct WeaveTarget {
  std::vector<pid_t> pids;
  // Name, path or glob of executables. Processes that start later are woven too: at once if they run a file
  // that is already woven, otherwise at the next Collect.
  std::vector<std::string> exes;
};

enum class LinkChoice : uint8_t {
  kAuto,   // kMulti where the kernel has it
  kMulti,  // one link for all places of a program (Linux 6.10)
  kPerf,   // a perf event for each place
};
Result<LinkChoice> ParseLinkChoice(std::string_view text);

// Whether packed events are passed to processes linked with libwherefore, whose own tracepoints may unpack
// them.
enum class HandOver : uint8_t { kNo, kToLinkedProcesses };

// What a query may pack in one request before the request is marked.
struct PackLimits {
  uint32_t tuples = 256, bytes = 3000;
};

struct WeaveOptions {
  uint32_t string_bytes = 64;  // where strings are cut; 8 to 256
  LinkChoice link = LinkChoice::kAuto;
  uint32_t groups = 4096;  // kept in the kernel; tuples of further groups are sent one by one
  uint32_t ring_bytes = 4 << 20;  // a power of two
  HandOver hand_over = HandOver::kNo;
  PackLimits limits;
};

// What happened since the last Collect, besides the rows.
struct WeaveCounters {
  uint64_t hits = 0;     // events seen, before any filter
  uint64_t lost = 0;     // events that are not in the answer: the ring was full
  uint64_t singly = 0;   // events sent to user space because the kernel cannot run the advice, ...
  uint64_t inexact = 0;  // ... or not exactly for this event (overflow, groups full)
  uint64_t cut_strings = 0;  // longer than string_bytes
  uint64_t unread = 0;    // values that could not be read (not mapped, swapped out): they are null
  uint64_t unpaired = 0;  // ends of functions that were entered before weaving: elapsed is null
  uint64_t overflowed = 0;  // events with more tuples than advice::kMaxTuplesPerEvent
  uint64_t ambiguous = 0;   // receives of bytes that several requests sent
  // io_uring, splice, sendfile in woven processes: the request cannot be followed there.
  uint64_t unfollowed = 0;
  uint64_t packed_tuples_max = 0, baggage_bytes_max = 0;  // max of one request
  uint64_t marked = 0;     // requests that have packed more than PackLimits
  uint64_t advice_ns = 0;  // probes as predicted for their places, plus the time of user space
};

struct WovenPlace {
  std::string tracepoint, file, function, instruction;
  uint64_t offset = 0;
  uint32_t predicted_ns = 0;  // time of the kernel for the probe itself, per hit
};

class Woven {
 public:
  // BadInput: a tracepoint of the program is not defined, or cannot be read as defined. NotFound: none of the processes
  // has it. Denied: privileges. `program` is copied.
  static Result<std::unique_ptr<Woven>> Weave(const advice::Program& program,
                                              const std::vector<TracepointDefinition>& definitions,
                                              const WeaveTarget& target,
                                              const WeaveOptions& options);
  virtual ~Woven() = default;  // unweaves

  // Reads what programs sent; if there is nothing, waits up to `milliseconds`.
  virtual Status Poll(int milliseconds) = 0;
  // Moves everything since the last call into `results` (of the same program): over all calls, each hit is in
  // exactly one of them. Also weaves new processes (unless pids were given).
  virtual Result<WeaveCounters> Collect(advice::Results& results) = 0;
  // Removes every probe; returns when they are gone. Collect still returns what they had counted.
  virtual Status Unweave() = 0;

  virtual const advice::Program& program() const = 0;
  virtual const std::vector<WovenPlace>& places() const = 0;
  // What the user should know: exports that are null somewhere and why, and what joins do not see.
  virtual const std::vector<std::string>& notes() const = 0;
};

}  // namespace wf::weaver
