#include "wherefore/rpc.h"

#include "client/block_id.h"
#include "client/tracer_core.h"

namespace wherefore {
namespace {

using client::Here;
using client::TracerCore;

BlockOptions AsClient(BlockOptions options) {
  options.kind = BlockKind::kClient;
  return options;
}

BlockOptions AsServer(const RequestContext& caller, std::vector<Label> properties) {
  BlockOptions options;
  options.kind = BlockKind::kServer;
  options.parent = caller;
  options.properties = std::move(properties);
  options.id = caller.callee();  // known to both sides; 0 when the caller did not name one
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

RpcHeaders RpcCall::Send() {
  RequestContext context = block_.context();
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
  if (!context.baggage().empty()) headers.emplace_back("baggage", context.baggage());
  return headers;
}

void RpcCall::Queued() {
  if (block_.recording()) EmitRpc(tracer_, EventType::kRpcClientQueue, callee_, block_.id());
}

void RpcCall::Received(std::string_view traceresponse) {
  if (!block_.recording()) return;
  EmitRpc(tracer_, EventType::kRpcClientReceive, callee_, block_.id());
  block_.Resolve(traceresponse);
}

RpcHandler::RpcHandler(Tracer& tracer, std::string_view name, const RequestContext& caller,
                       std::vector<Label> properties)
    : tracer_(tracer),
      rpc_(caller.callee()),
      block_(tracer, name, AsServer(caller, std::move(properties))) {
  if (block_.recording()) EmitRpc(tracer_, EventType::kRpcServerReceive, rpc_, block_.id());
}

std::string RpcHandler::Respond() {
  if (!responded_ && block_.recording()) {
    EmitRpc(tracer_, EventType::kRpcServerSend, rpc_, block_.id());
  }
  responded_ = true;
  return block_.context().Traceresponse();
}

}  // namespace wherefore
