// Calls between processes, over any protocol that has headers.
//
//   RpcCall call(tracer, "GET /cart");                   the caller
//   for (auto& [name, value] : call.Send()) request.Add(name, value);
//   … wait …
//   call.Received(response.Get("traceresponse"));
//
//   RpcHandler handler(tracer, "GET /cart", *RequestContext::FromHeaders(traceparent, tracestate, baggage));
//   … work …                                             the callee
//   response.Add("traceresponse", handler.Respond());
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wherefore/api.h"
#include "wherefore/context.h"
#include "wherefore/tracer.h"

namespace wherefore {

using RpcHeaders = std::vector<std::pair<std::string, std::string>>;

// A CLIENT block from construction to End or destruction.
class WHEREFORE_API RpcCall {
 public:
  RpcCall(Tracer& tracer, std::string_view name);
  RpcCall(Tracer& tracer, std::string_view name, BlockOptions options);

  // The request leaves now, with these headers: traceparent, and tracestate and baggage unless empty.
  RpcHeaders Send();
  // The response was read, and waits to be handled (Canopy figure 11 c, d). Optional.
  void Queued();
  // The response is handled from now on. Of an opportunistic trace that this call's block started, `traceresponse` is
  // the decision.
  void Received(std::string_view traceresponse = {});

  Block& block() { return block_; }

 private:
  Tracer& tracer_;
  Block block_;
  BlockId callee_ = 0;
};

// A SERVER block from construction to destruction.
class WHEREFORE_API RpcHandler {
 public:
  // `caller`: an invalid one starts a trace.
  RpcHandler(Tracer& tracer, std::string_view name, const RequestContext& caller,
             std::vector<Label> properties = {});
  ~RpcHandler() { Respond(); }

  // The response leaves now: its `traceresponse` header. Only the first call is recorded.
  std::string Respond();

  Block& block() { return block_; }

 private:
  Tracer& tracer_;
  const BlockId rpc_;
  Block block_;
  bool responded_ = false;
};

}  // namespace wherefore
