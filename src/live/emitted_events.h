// The server side of the emit plan (src/client/queries/causal_past.h is the client side). Processes report
// the events of a live query in any order, each with the ids of the events that happened before it. The query
// runs over each request as far as it is known, and what its From events emit goes into the interval of their
// time.
//
//   Take ← reports          Evaluate → parts of intervals, when an interval is about to be shown
//
// An event is complete when all events that happened before it have arrived and are complete. A From event
// emits once, when it is complete, because later arrivals cannot have happened before it. Events are kept
// while their request goes on, because later events may need them. Memory, the work on one request and the
// time of an evaluation are all bounded. What exceeds a bound or is not complete in time is counted as lost,
// by reason, because an answer from half a past would be wrong.
//
// Thread safety: Take from any thread, in parallel with one thread that evaluates.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "advice/emitted_events.h"
#include "advice/program.h"
#include "advice/results.h"
#include "base/nanos.h"

namespace wf::live {

// The approximate memory of the emitted events of all queries of a server.
struct EmittedMemory {
  static constexpr size_t kMost = 256 << 20;
  std::atomic<size_t> used{0};
};

struct EmittedLimits {
  // How long an event waits for those before it: the previous interval's report may be delayed, or sent again
  // after a failure.
  Nanos patience = 5 * kSecond;
  // A request without any event for this long is forgotten; its later events are lost.
  Nanos quiet = 60 * kSecond;
  // For all requests of a query: half a million events. The requests that were quiet for longest are
  // forgotten first.
  size_t bytes = 128 << 20;
  // A bound, because the whole request is searched again each interval while it goes on.
  size_t events_of_a_request = 50'000;
  // Max tuples of one request in one evaluation: some seconds at most (query::RunAdviceAt).
  size_t work = 4'000'000;
};

class EmittedEvents {
 public:
  EmittedEvents(std::shared_ptr<const advice::Program> program, Nanos interval,
                std::shared_ptr<EmittedMemory> memory, EmittedLimits limits = {});
  ~EmittedEvents();

  struct Process {
    std::string host, name;
    int64_t pid = 0;
  };
  // False, with no effect, if `bytes` are not events of this query.
  bool Take(const Process& process, std::string_view bytes, Nanos now);

  struct Part {
    std::string partial;  // advice::Results::Encode
    uint64_t lost = 0;    // events
  };
  struct Losses {
    uint64_t past = 0;  // an earlier event did not arrive
    uint64_t room = 0;  // over a memory bound, or from a clock that is far off
    uint64_t work = 0;  // too many tuples, or too late to evaluate them
  };
  struct Evaluation {
    std::map<Nanos, Part> parts;  // by the start of the interval
    Losses lost;                  // the sum over the parts
    bool more = false;            // the time ran out: evaluate again
  };
  enum class Rest : uint8_t { kMayCome, kIsLost };
  // Evaluates what became complete since the last call. Takes about `budget`, and at most one request longer.
  Evaluation Evaluate(Nanos now, Rest rest, Nanos budget);

  // Whether Evaluate has work to do.
  bool waiting() const { return waiting_.load(std::memory_order_relaxed); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  size_t events() const { return known_; }  // call it on the evaluating thread

 private:
  enum class State : uint8_t { kAwaited, kWaiting, kComplete, kLost };
  struct Node {
    advice::EmittedEvent event;
    std::shared_ptr<const Process> process;
    State state = State::kAwaited;  // kAwaited: only its id is known
    bool told = false;              // its tuples have been emitted
    Nanos came = 0;
    uint64_t request = 0;
  };
  struct Request {
    std::vector<uint64_t> ids;
    Nanos heard = 0;
    bool too_large = false;  // over the limit of work, so it is not run again
  };
  struct Arrived {
    std::shared_ptr<const Process> process;
    std::vector<advice::EmittedEvent> events;
    Nanos now = 0;
  };
  class Pending;

  void Charge(size_t bytes);
  void Release(size_t bytes);
  Node& Know(uint64_t id, Nanos now);
  void Insert(const std::shared_ptr<const Process>& process, advice::EmittedEvent event, Nanos now);
  void Unite(uint64_t a, uint64_t b);
  void Forget(uint64_t request, uint64_t Losses::*why, Pending& pending);
  void ForgetQuiet(Nanos now, Pending& pending);
  void Lose(Node& node, uint64_t Losses::*why, Pending& pending);
  bool FindComplete(const Request& request, Nanos now, Rest rest, Pending& pending);
  void Run(Request& request, Pending& pending);

  // Without Sample, because requests were already sampled where events are emitted.
  const std::shared_ptr<const advice::Program> program_;
  const std::vector<advice::EmittedPlace> places_;
  const Nanos interval_;
  const std::shared_ptr<EmittedMemory> memory_;
  const EmittedLimits limits_;
  std::atomic<size_t> bytes_{0};
  std::atomic<bool> waiting_{false};

  std::mutex mutex_;  // guards arrived_ and refused_
  std::vector<Arrived> arrived_;
  uint64_t refused_ = 0;

  // Used by the evaluating thread only.
  std::unordered_map<uint64_t, Node> nodes_;
  std::unordered_map<uint64_t, Request> requests_;
  std::set<uint64_t> open_;  // requests with events that wait
  uint64_t resume_at_ = 0;   // the next of them to evaluate
  uint64_t next_request_ = 0;
  size_t known_ = 0;  // nodes whose event has arrived
  Nanos looked_for_quiet_ = 0;
};

}  // namespace wf::live
