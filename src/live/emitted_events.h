// The emit plan's end on the server (src/client/queries/causal_past.h is its beginning): events of a live query come in from its
// processes, each behind the ids of those that happened before it, in any order. The query is run over each request as
// far as it is known, and what its From events emit goes into the interval of their time.
//
//   Take ← reports          Evaluate → parts of intervals, when an interval is about to be told
//
// An event is complete when all that happened before it has come, and they are complete. A From event emits once, when it
// is: what comes later cannot have happened before it. Events stay while their request goes on, for those that come after
// them. Nothing here is without bound: neither memory, nor the work on one request, nor the time of an evaluation. What
// passes a bound, and what is not complete in time, is counted as lost, by reason: an answer made of half a past would be
// wrong.
//
// Thread safety: Take from any thread, beside one that evaluates.
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

// What the emitted events of all queries of a server take, about.
struct EmittedMemory {
  static constexpr size_t kMost = 256 << 20;
  std::atomic<size_t> used{0};
};

struct EmittedLimits {
  // A process's report of the interval before may still be on its way, and be sent again after a failure.
  Nanos patience = 5 * kSecond;
  // A request of which nothing was heard for so long is forgotten; what comes of it then is lost.
  Nanos quiet = 60 * kSecond;
  // Of all requests of a query: half a million events. The quietest requests are forgotten first.
  size_t bytes = 128 << 20;
  // It is looked through again each interval, as long as it goes on.
  size_t events_of_a_request = 50'000;
  // Tuples of one request in one evaluation: some seconds at the most (query::RunAdviceAt).
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
  // False, and nothing taken, if `bytes` are not events of this query.
  bool Take(const Process& process, std::string_view bytes, Nanos now);

  struct Part {
    std::string partial;  // advice::Results::Encode
    uint64_t lost = 0;    // events
  };
  struct Losses {
    uint64_t past = 0;  // what happened before did not come
    uint64_t room = 0;  // past a bound on memory, or of a clock that is far off
    uint64_t work = 0;  // too many tuples, or too late to look at them
  };
  struct Evaluation {
    std::map<Nanos, Part> parts;  // by the start of the interval
    Losses lost;                  // the sum of theirs
    bool more = false;            // the time did not suffice: evaluate again
  };
  enum class Rest : uint8_t { kMayCome, kIsLost };
  // What became complete since the last time. About `budget` long, longer by one request at the most.
  Evaluation Evaluate(Nanos now, Rest rest, Nanos budget);

  // Whether Evaluate has something to look at.
  bool waiting() const { return waiting_.load(std::memory_order_relaxed); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  size_t events() const { return known_; }  // of the thread that evaluates

 private:
  enum class State : uint8_t { kAwaited, kWaiting, kComplete, kLost };
  struct Node {
    advice::EmittedEvent event;
    std::shared_ptr<const Process> process;
    State state = State::kAwaited;  // known by its id only
    bool told = false;              // its tuples have been given
    Nanos came = 0;
    uint64_t request = 0;
  };
  struct Request {
    std::vector<uint64_t> ids;
    Nanos heard = 0;
    bool too_large = false;  // past the limit of work: it is not run again
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

  // Without Sample: requests were left out where events are emitted.
  const std::shared_ptr<const advice::Program> program_;
  const std::vector<advice::EmittedPlace> places_;
  const Nanos interval_;
  const std::shared_ptr<EmittedMemory> memory_;
  const EmittedLimits limits_;
  std::atomic<size_t> bytes_{0};
  std::atomic<bool> waiting_{false};

  std::mutex mutex_;  // guards what follows
  std::vector<Arrived> arrived_;
  uint64_t refused_ = 0;

  // Of the thread that evaluates.
  std::unordered_map<uint64_t, Node> nodes_;
  std::unordered_map<uint64_t, Request> requests_;
  std::set<uint64_t> open_;  // requests in which events wait
  uint64_t resume_at_ = 0;   // the next of them to look at
  uint64_t next_request_ = 0;
  size_t known_ = 0;  // nodes that came
  Nanos looked_for_quiet_ = 0;
};

}  // namespace wf::live
