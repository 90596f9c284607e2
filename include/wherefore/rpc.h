// Calls between processes, over any protocol that has headers.
//
//   RpcCall call(tracer, "GET /cart");                   the caller
//   for (auto& [name, value] : call.Send()) request.Add(name, value);
//   … wait …
//   call.Received(response.Get("traceresponse"), response.Get("baggage"));
//
//   RpcHandler handler(tracer, "GET /cart", *RequestContext::FromHeaders(traceparent, tracestate, baggage));
//   … work …                                             the callee
//   for (auto& [name, value] : handler.ResponseHeaders()) response.Add(name, value);
//
// The response carries the tuples that the callee packed back to the caller (baggage.h). If a protocol has
// trailers, as gRPC has, send the response's headers there, so that tuples packed while the body was made are
// included.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wherefore/api.h"
#include "wherefore/context.h"
#include "wherefore/tracer.h"

namespace wherefore {

using RpcHeaders = std::vector<std::pair<std::string, std::string>>;

// kOutside: an edge. Tuples of queries are neither sent to such a peer nor accepted from it.
enum class Peer : uint8_t { kInside, kOutside };

// A CLIENT block from construction to End or destruction.
class WHEREFORE_API RpcCall {
 public:
  RpcCall(Tracer& tracer, std::string_view name);
  RpcCall(Tracer& tracer, std::string_view name, BlockOptions options);

  // Call it when the request is sent, with these headers: traceparent, and tracestate and baggage unless they
  // are empty.
  RpcHeaders Send(Peer peer = Peer::kInside);
  // The response was read and waits to be handled (Canopy figure 11 c, d). Optional.
  void Queued();
  // Call it when handling of the response begins. `traceresponse` carries the decision if this call's block
  // started an opportunistic trace; `baggage` is joined to this thread's.
  void Received(std::string_view traceresponse = {}, std::string_view baggage = {});

  Block& block() { return block_; }

 private:
  Tracer& tracer_;
  Block block_;
  BlockId callee_ = 0;
  Peer peer_ = Peer::kInside;
};

// A SERVER block from construction to destruction.
class WHEREFORE_API RpcHandler {
 public:
  // An invalid `caller` starts a trace.
  RpcHandler(Tracer& tracer, std::string_view name, const RequestContext& caller,
             std::vector<Label> properties = {}, Peer peer = Peer::kInside);
  ~RpcHandler() { Respond(); }

  // Call it when the response is sent; returns its `traceresponse` header. Only the first call is recorded.
  std::string Respond();
  // The same as headers: traceresponse, and baggage if the callee packed anything that the caller does not
  // have.
  RpcHeaders ResponseHeaders();

  Block& block() { return block_; }

 private:
  static RequestContext Accepted(const RequestContext& caller, Peer peer);

  Tracer& tracer_;
  const BlockId rpc_;
  const Peer peer_;
  const std::shared_ptr<const client::BaggageSnapshot> received_;
  Block block_;
  bool responded_ = false;
};

}  // namespace wherefore
