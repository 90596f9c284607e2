// Baggage: tuples that travel with a request, packed and unpacked by the advice of queries (Pivot Tracing §4, §5).
//
// The baggage belongs to the request's context: a thread that works for a request has the request's baggage,
// RequestContext carries it between threads, and rpc.h between processes. A program only has to pass contexts
// on, and to mark two cases that the library cannot see:
//
//   RequestContext::Fork()   work continues in parallel with this thread (enqueue, continuation, TracedThread and
//                            KeepContext call it)
//   Branch                   ... and a thread waits for that work, so it then sees the tuples that the work packed
//
//   Branch branch;                                          // here
//   pool.Post(branch.Bind([&] { result = Lookup(key); }));
//   … wait …
//   branch.Join();                                          // tuples packed in Lookup are visible from now on
//
// Nothing here blocks or throws. Tuples that do not fit are dropped, marked in the baggage and counted. With
// WHEREFORE_BAGGAGE=off in the environment the process neither accepts nor sends baggage.
// docs/concepts/baggage.md describes the format and where tuples can be lost.
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

// Applies to the whole process from now on. kEdge: received baggage is dropped and ours is never sent, but
// baggage works inside the process. RpcCall and RpcHandler can do the same for one peer.
enum class BaggageExchange : uint8_t { kOpen, kEdge };
WHEREFORE_API void set_baggage_exchange(BaggageExchange exchange);

// The baggage of this thread's request as bytes, for protocols without headers. Empty when there is no
// request.
WHEREFORE_API std::string serialize_baggage();
// Appends the same bytes to `message`.
WHEREFORE_API void append_baggage(std::string& message);
// Joins baggage that another process serialised to this thread's; call it when a message was received. Bytes
// that are not baggage change nothing and are counted.
WHEREFORE_API void join_baggage(std::string_view bytes);
// The same for a `baggage` header: of a response, or of a message other than the one that this thread's
// request came from.
WHEREFORE_API void join_baggage_header(std::string_view header);

struct BaggageStats {
  uint64_t rejected = 0;    // received but malformed
  uint64_t cut = 0;         // received without its second member: lost on the way
  uint64_t overflowed = 0;  // queries that exceeded their limits in a request
  uint64_t unfitting = 0;   // queries dropped because the header had no room
  uint64_t refused = 0;     // members that an edge did not accept
};
WHEREFORE_API BaggageStats baggage_stats();

// Marks this thread as working for a request until the scope ends. For programs with their own protocols
// whose requests are queried but not traced; a ContextScope does the same and carries the trace as well.
// `received` are the bytes that came with the request; if they are empty, the request begins here.
// RequestContext::Current(), Fork() and Branch carry the baggage to other threads as they do for a traced
// request. Such a request has no id, so `Sample` decides anew at each tracepoint that the request hits.
// Scopes nest; destroy a scope on the thread that made it.
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

// A part of this thread's request that runs on another thread while this one waits for it. Copies are the
// same branch.
class WHEREFORE_API Branch {
 public:
  Branch();  // begins where it is constructed

  // Attach this context once, on the thread that does the work (ContextScope, BlockOptions::parent).
  const RequestContext& context() const;
  // Call it when the work is done, on the thread that did it, with its context still attached. Only the first
  // call counts.
  void Done();
  // Call it on the thread that waited: its request then sees what was packed until Done. Only the first call
  // counts.
  void Join();

  // A callable for pools and executors: attaches the context, runs `function`, calls Done.
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
