// The emit plan's end on the server (src/client/causal_past.h is its beginning): events of a live query come in from its
// processes, each behind the ids of those that happened before it, in any order. The query is run over each request as
// far as it is known, and what its From events emit goes into the interval of their time.
//
//   Add ← reports          Evaluate → parts of intervals, when an interval is about to be told
//
// An event is complete when all that happened before it has come, and they are complete. A From event emits once, when it
// is: what comes later cannot have happened before it. Events stay while their request goes on, for those that come after
// them. Whatever is not complete after kPatience, and events past the limits, are counted as lost: an answer made of half
// a past would be wrong.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "advice/emitted_events.h"
#include "advice/program.h"
#include "advice/results.h"
#include "base/nanos.h"

namespace wf {

class EmittedEvents {
 public:
  // A process's report of the interval before may still be on its way, and be sent again after a failure.
  static constexpr Nanos kPatience = 5 * kSecond;
  // A request of which nothing was heard for so long is forgotten; what comes of it then is lost.
  static constexpr Nanos kQuiet = 60 * kSecond;
  // Of all requests of a query: some hundred megabytes. The quietest requests are forgotten first.
  static constexpr size_t kMostEvents = 500'000;
  // It is looked through again each interval, as long as it goes on.
  static constexpr size_t kMostOfOneRequest = 50'000;

  EmittedEvents(std::shared_ptr<const advice::Program> program, Nanos interval);

  struct Process {
    std::string host, name;
    int64_t pid = 0;
  };
  // False, and nothing taken, if `bytes` are not events of this query.
  bool Add(const Process& process, std::string_view bytes, Nanos now);

  struct Part {
    std::string partial;  // advice::Results::Encode
    uint64_t lost = 0;    // events
  };
  enum class Rest : uint8_t { kMayCome, kIsLost };
  // What became complete since the last time, by the start of its interval.
  std::map<Nanos, Part> Evaluate(Nanos now, Rest rest);

  size_t events() const { return known_; }

 private:
  enum class State : uint8_t { kAwaited, kWaiting, kComplete, kLost };
  struct Node {
    advice::EmittedEvent event;
    std::shared_ptr<const Process> process;
    State state = State::kAwaited;  // known by its id only
    bool told = false;              // its tuples have been given
    Nanos came = 0;
    uint32_t request = 0;
  };
  struct Request {
    std::vector<uint64_t> ids;
    Nanos heard = 0;
    size_t waiting = 0;  // upper bound: kWaiting
  };
  struct Pending;

  Node& Know(uint64_t id, Nanos now);
  void Unite(uint32_t a, uint32_t b);
  void Forget(uint32_t request, Pending& pending);
  void Lose(Node& node, Pending& pending);
  void FindComplete(Request& request, Nanos now, Rest rest, Pending& pending);
  void Run(const Request& request, Pending& pending);

  const std::shared_ptr<const advice::Program>
      program_;  // without Sample: left out where events are emitted
  const std::vector<advice::EmittedPlace> places_;
  const Nanos interval_;
  std::unordered_map<uint64_t, Node> nodes_;
  std::unordered_map<uint32_t, Request> requests_;
  uint32_t next_request_ = 0;
  size_t known_ = 0;  // nodes that came
  std::map<Nanos, uint64_t> refused_;
};

}  // namespace wf
