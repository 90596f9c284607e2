// The request this thread works for, and how it travels between threads and processes.
//
// RequestContext carries metadata only: which trace, which block, whether it is recorded.
// Propagating and recording are separate (Canopy §4.1): a request that is not sampled still
// travels, and records nothing. Thread safety: a RequestContext is a value. The current context
// belongs to its thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wherefore/api.h"

namespace wherefore {

struct TraceId {
  uint64_t hi = 0;
  uint64_t lo = 0;
  bool valid() const { return (hi | lo) != 0; }
  bool operator==(const TraceId& o) const { return hi == o.hi && lo == o.lo; }
  bool operator!=(const TraceId& o) const { return !(*this == o); }
};

// A block's id is what OpenTelemetry calls a span id. 0: none.
using BlockId = uint64_t;

class WHEREFORE_API RequestContext {
 public:
  enum class Origin : uint8_t { kLocal, kRemote };
  static constexpr uint8_t kSampledFlag = 0x01;

  RequestContext() = default;  // no request
  RequestContext(TraceId trace, BlockId block, uint8_t flags, std::string tracestate = {},
                 Origin origin = Origin::kLocal);

  // The W3C headers of an incoming request. Nothing if `traceparent` is malformed; a malformed
  // `tracestate` is left out and the rest kept, as the recommendation asks. Several tracestate
  // headers are joined by the caller with ",".
  static std::optional<RequestContext> FromHeaders(std::string_view traceparent,
                                                   std::string_view tracestate = {});

  // A copy of this thread's context: hand it to another thread, and attach it there with ContextScope.
  static RequestContext Current();

  bool valid() const { return trace_.valid() && block_ != 0; }
  bool sampled() const { return (flags_ & kSampledFlag) != 0; }
  bool remote() const { return origin_ == Origin::kRemote; }
  TraceId trace() const { return trace_; }
  BlockId block() const { return block_; }
  uint8_t flags() const { return flags_; }
  const std::string& tracestate() const { return tracestate_; }

  std::string Traceparent() const;  // empty when there is no request
  std::string TraceHex() const;     // 32 digits
  std::string BlockHex() const;     // 16 digits

 private:
  TraceId trace_;
  BlockId block_ = 0;
  uint8_t flags_ = 0;
  Origin origin_ = Origin::kLocal;
  std::string tracestate_;
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
};

}  // namespace wherefore
