// The request this thread works for, and how it travels between threads and processes.
//
// RequestContext carries metadata only: which trace, which block, whether and in what detail it is recorded.
// Propagating and recording are separate (Canopy §4.1): a request that is not sampled still
// travels, and records nothing. Thread safety: a RequestContext is a value. The current context
// belongs to its thread.
//
// Between processes it travels in W3C headers: traceparent, tracestate (members of other vendors and our own,
// `wf`) and baggage (members of others and our own, which hold the tuples of queries).
// docs/use/client-library.md describes `wf` of tracestate, docs/concepts/baggage.md the baggage.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "wherefore/api.h"
#include "wherefore/thread_state.h"

namespace wherefore {

namespace client {
class BaggageSnapshot;
class BaggageLine;
}  // namespace client

struct TraceId {
  uint64_t hi = 0;
  uint64_t lo = 0;
  bool valid() const { return (hi | lo) != 0; }
  bool operator==(const TraceId& o) const { return hi == o.hi && lo == o.lo; }
  bool operator!=(const TraceId& o) const { return !(*this == o); }
};

// A block's id is what OpenTelemetry calls a span id. 0: none.
using BlockId = uint64_t;

// How much of a trace is recorded (Canopy §4.1). A call site has a level, and so has a trace. A call site is
// recorded if its level is not finer than that of the trace.
enum class Detail : uint8_t {
  kRequests = 0,   // requests entering and leaving a service
  kDefault = 1,    // the blocks of a service
  kInternals = 2,  // locks, queues, counters
  kEverything = 3,
};

class WHEREFORE_API RequestContext {
 public:
  enum class Origin : uint8_t { kLocal, kRemote };
  static constexpr uint8_t kSampledFlag = 0x01;

  RequestContext() = default;  // no request
  RequestContext(TraceId trace, BlockId block, uint8_t flags, std::string tracestate = {},
                 Origin origin = Origin::kLocal);

  // The W3C headers of an incoming request. Empty if `traceparent` is malformed; a malformed `tracestate` or
  // `baggage` is dropped and the rest is kept, as the recommendations require. The caller joins several
  // headers of one name with ",".
  static std::optional<RequestContext> FromHeaders(std::string_view traceparent,
                                                   std::string_view tracestate = {},
                                                   std::string_view baggage = {});

  // A copy of this thread's context: pass it to another thread, and attach it there with ContextScope.
  static RequestContext Current();
  // The same for work that continues in parallel with this thread's, wherever it runs: from now on neither
  // side sees what the other packs into its baggage. (Attaching Current() to the thread it was taken from
  // makes no branch.)
  static RequestContext Fork();
  // For executors and coroutines, where a scope would not nest: makes `context` this thread's context and
  // returns the previous one. Blocks that began earlier and have not ended belong to the previous context.
  static RequestContext Exchange(RequestContext context);

  bool valid() const { return trace_.valid() && block_ != 0; }
  bool sampled() const { return (flags_ & kSampledFlag) != 0; }
  bool remote() const { return origin_ == Origin::kRemote; }
  TraceId trace() const { return trace_; }
  BlockId block() const { return block_; }
  uint8_t flags() const { return flags_; }
  // The level of detail of the trace, if the process that started the trace set one.
  std::optional<Detail> detail() const;
  // The caller keeps its events until it receives our decision in `traceresponse` (Canopy figure 6). This
  // holds for one hop and is never sent on.
  bool awaits_decision() const { return awaits_decision_; }
  // The id that the caller gave to the block that handles its call; 0: none.
  BlockId callee() const { return callee_; }

  std::string Traceparent() const;  // empty when there is no request
  // Our member, if there is anything to send, then those of other vendors.
  std::string tracestate() const;
  // The whole header: entries of others, then our members if they fit. The tuples are those that the request
  // had when this context was made.
  std::string baggage() const;
  std::string TraceHex() const;  // 32 digits
  std::string BlockHex() const;  // 16 digits

  // One entry of the baggage, decoded. Empty if there is no such entry.
  std::optional<std::string> BaggageEntry(std::string_view key) const;
  // The same context with one entry added or replaced. An invalid key, one of our own members, or an entry that would
  // make the baggage longer than the recommendation's 8,192 bytes, changes nothing.
  RequestContext WithBaggage(std::string_view key, std::string_view value) const;

  // The `traceresponse` header of the response (W3C Trace Context, level 2 draft): this trace and block, and
  // whether it is sampled. Empty when there is no request.
  std::string Traceresponse() const { return Traceparent(); }

 private:
  friend class ContextScope;
  friend class Block;
  friend class RpcCall;
  friend class RpcHandler;
  friend class Branch;
  friend class ReachedPath;
  static RequestContext Peek();  // Current() without the baggage, which is not copied
  bool request() const { return valid() || untraced_; }
  bool OnThisLine() const;  // attaching this context does not change the thread's baggage
  void Attach() &&;         // makes this the thread's context, except for the baggage
  void DropBaggage();       // drops our members, not those of others
  static internal::Hold HoldOf(const RequestContext& context) { return context.hold_; }

  TraceId trace_;
  BlockId block_ = 0;
  BlockId callee_ = 0;
  uint8_t flags_ = 0;
  uint8_t detail_ = 0;  // level + 1; 0: not set
  internal::Hold hold_ = internal::Hold::kNone;
  Origin origin_ = Origin::kLocal;
  bool awaits_decision_ = false;
  bool untraced_ = false;   // there is a request (BaggageScope) but no trace
  std::string tracestate_;  // without our own member
  std::string baggage_;     // without our own members
  std::shared_ptr<const client::BaggageSnapshot> tuples_;
  uint64_t line_ = 0;  // the line of execution it was captured on; 0: does not matter
};

// Makes `context` this thread's context until the scope ends; scopes nest. Destroy it on the thread that made it.
class WHEREFORE_API ContextScope {
 public:
  explicit ContextScope(RequestContext context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  RequestContext previous_;
  uint64_t previous_unit_;
  void* previous_draft_;
  client::BaggageLine* previous_baggage_ = nullptr;
  bool entered_;  // this scope entered another line of execution than the previous one
};

}  // namespace wherefore
