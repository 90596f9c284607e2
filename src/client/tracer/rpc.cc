#include "wherefore/rpc.h"

#include "client/queries/thread_baggage.h"
#include "client/runtime/block_id.h"
#include "client/tracer/baggage_header.h"
#include "client/tracer/tracer_core.h"
#include "wherefore/baggage.h"

namespace wherefore {
namespace {

using client::Here;
using client::TracerCore;

BlockOptions AsClient(BlockOptions options) {
  options.kind = BlockKind::kClient;
  return options;
}

BlockOptions AsServer(RequestContext caller, std::vector<Label> properties) {
  BlockOptions options;
  options.kind = BlockKind::kServer;
  options.properties = std::move(properties);
  options.id = caller.callee();  // known to both sides; 0 when the caller did not name one
  options.parent = std::move(caller);
  return options;
}

void EmitRpc(Tracer& tracer, EventType type, BlockId rpc, BlockId where) {
  if (TracerCore* core = tracer.core(); core != nullptr && rpc != 0)
    core->Emit(Here(type, rpc, where));
}

}  // namespace

RpcCall::RpcCall(Tracer& tracer, std::string_view name)
    : tracer_(tracer), block_(tracer, name, BlockKind::kClient) {}

RpcCall::RpcCall(Tracer& tracer, std::string_view name, BlockOptions options)
    : tracer_(tracer), block_(tracer, name, AsClient(std::move(options))) {}

RpcHeaders RpcCall::Send(Peer peer) {
  peer_ = peer;
  bool here = false;
  RequestContext context = block_.PeekContext(here);
  RpcHeaders headers;
  if (!context.valid()) return headers;
  if (block_.recording() && !tracer_.core()->otlp()) {
    callee_ = client::NewBlockId();
    context.callee_ = callee_;
    EmitRpc(tracer_, EventType::kRpcClientSend, callee_, block_.id());
  }
  headers.emplace_back("traceparent", context.Traceparent());
  if (std::string state = context.tracestate(); !state.empty()) {
    headers.emplace_back("tracestate", std::move(state));
  }
  std::string baggage =
      peer == Peer::kOutside ? context.baggage_
      : here ? client::WithOwnMembers(context.baggage_, client::CurrentBaggageIfAny())
             : context.baggage();
  if (!baggage.empty()) headers.emplace_back("baggage", std::move(baggage));
  return headers;
}

void RpcCall::Queued() {
  if (block_.recording()) EmitRpc(tracer_, EventType::kRpcClientQueue, callee_, block_.id());
}

void RpcCall::Received(std::string_view traceresponse, std::string_view baggage) {
  if (!baggage.empty() && peer_ == Peer::kInside) {
    // Requests never mix: whoever handles the response elsewhere attaches the call's context there first.
    bool unused = false;
    const bool here = block_.PeekContext(unused).trace() == RequestContext::Peek().trace();
    if (here) join_baggage_header(baggage);
  }
  if (!block_.recording()) return;
  EmitRpc(tracer_, EventType::kRpcClientReceive, callee_, block_.id());
  block_.Resolve(traceresponse);
}

RpcHandler::RpcHandler(Tracer& tracer, std::string_view name, const RequestContext& caller,
                       std::vector<Label> properties, Peer peer)
    : tracer_(tracer),
      rpc_(caller.callee()),
      peer_(peer),
      received_(peer == Peer::kInside ? caller.tuples_ : nullptr),
      block_(tracer, name, AsServer(Accepted(caller, peer), std::move(properties))) {
  if (block_.recording()) EmitRpc(tracer_, EventType::kRpcServerReceive, rpc_, block_.id());
}

RequestContext RpcHandler::Accepted(const RequestContext& caller, Peer peer) {
  RequestContext accepted = caller;
  if (peer == Peer::kOutside) {
    if (accepted.tuples_ != nullptr) client::CountRefused();
    accepted.DropBaggage();
  }
  return accepted;
}

std::string RpcHandler::Respond() {
  if (!responded_ && block_.recording()) {
    EmitRpc(tracer_, EventType::kRpcServerSend, rpc_, block_.id());
  }
  responded_ = true;
  bool here = false;
  return block_.PeekContext(here).Traceresponse();
}

RpcHeaders RpcHandler::ResponseHeaders() {
  RpcHeaders headers;
  std::string traceresponse = Respond();
  if (traceresponse.empty()) return headers;
  headers.emplace_back("traceresponse", std::move(traceresponse));
  client::BaggageLine* const line = client::CurrentBaggageIfAny();
  if (peer_ == Peer::kOutside || line == nullptr || !client::ExchangesBaggage()) return headers;
  // The rest of the context is the caller's already.
  RequestContext packed;
  packed.tuples_ = line->FreezeSince(received_);
  if (std::string baggage = packed.baggage(); !baggage.empty()) {
    headers.emplace_back("baggage", std::move(baggage));
  }
  return headers;
}

}  // namespace wherefore
