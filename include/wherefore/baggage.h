// Baggage: tuples that travel with a request, packed and unpacked by the advice of queries (Pivot Tracing §4, §5).
//
// It belongs to the request's context: a thread that works for a request has the request's baggage, RequestContext
// carries it between threads, and rpc.h between processes. Programs have little to do with it beyond handing contexts
// on; two things they should tell, because nobody else knows:
//
//   RequestContext::Fork()   work goes on beside this thread's (enqueue, continuation, TracedThread and KeepContext do)
//   Branch                   ... and somebody waits for it: what it packed is then seen by whoever waited
//
//   Branch branch;                                          // here
//   pool.Post(branch.Bind([&] { result = Lookup(key); }));
//   … wait …
//   branch.Join();                                          // tuples packed in Lookup are visible from now on
//
// Nothing here blocks or throws; what does not fit is left out, marked in the baggage and counted. WHEREFORE_BAGGAGE=off
// in the environment makes the process neither accept nor send any. docs/concepts/baggage.md has the format and what is lost
// where.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "wherefore/api.h"
#include "wherefore/context.h"

namespace wherefore {

// For this process from now on. kEdge: baggage of others is dropped when it comes, and ours never sent; inside the
// process it works. RpcCall and RpcHandler can do the same for one peer.
enum class BaggageExchange : uint8_t { kOpen, kEdge };
WHEREFORE_API void set_baggage_exchange(BaggageExchange exchange);

// As bytes, for protocols of your own that have no headers: of this thread's request; empty when there is none.
WHEREFORE_API std::string serialize_baggage();
// The same at the end of `message`, for whoever writes one anyway.
WHEREFORE_API void append_baggage(std::string& message);
// Joins what another process serialised to this thread's: a message was received. Bytes that are not baggage change
// nothing, and are counted.
WHEREFORE_API void join_baggage(std::string_view bytes);
// The same of a `baggage` header: of a response, or of a message that is not where this thread's request came from.
WHEREFORE_API void join_baggage_header(std::string_view header);

struct BaggageStats {
  uint64_t rejected = 0;    // received, and malformed
  uint64_t cut = 0;         // received without its second member: lost on the way
  uint64_t overflowed = 0;  // queries that passed their limits in a request
  uint64_t unfitting = 0;   // queries left out because the header had no room
  uint64_t refused = 0;     // members that an edge did not accept
};
WHEREFORE_API BaggageStats baggage_stats();

// This thread works for a request until the scope ends. For programs whose requests are asked about and not traced, over
// protocols of their own: a ContextScope does the same, and carries the trace as well. `received` are the bytes that came
// with the request; empty, it begins here. RequestContext::Current(), Fork() and Branch carry the baggage to other threads
// as they do that of a traced request. Such a request has no id: `Sample` decides for each tracepoint that it hits.
// Scopes nest; destroy one on the thread that made it.
class WHEREFORE_API BaggageScope {
 public:
  explicit BaggageScope(std::string_view received = {});
  ~BaggageScope();
  BaggageScope(const BaggageScope&) = delete;
  BaggageScope& operator=(const BaggageScope&) = delete;

 private:
  uint64_t previous_line_;
  client::BaggageLine* previous_baggage_;
};

// A part of this thread's request that is done elsewhere and waited for. Copies are the same branch.
class WHEREFORE_API Branch {
 public:
  Branch();  // begins here and now

  // For whoever does the work: attach it once (ContextScope, BlockOptions::parent).
  const RequestContext& context() const;
  // The work is done: called where it was done, its context still attached. Only the first call counts.
  void Done();
  // Whoever waited goes on: this thread's request sees what was packed until Done. Only the first call counts.
  void Join();

  // A callable for pools and executors: attaches, runs `function`, is done.
  template <typename Function>
  auto Bind(Function function) const {
    return [branch = *this,
            function = std::move(function)](auto&&... arguments) mutable -> decltype(auto) {
      const ContextScope scope(branch.context());
      const Ending ending{branch};
      return function(std::forward<decltype(arguments)>(arguments)...);
    };
  }

 private:
  struct Ending {
    Branch& branch;
    ~Ending() { branch.Done(); }
  };
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace wherefore
