// Receivers: requests of senders → column batches → the store or the bus; the answer is sent when the batch is kept there.
//
// One function per protocol; each decodes on the io thread that read the request and hands the batch over. What was
// rejected or repaired is counted and told to the sender. An overloaded sink answers with a retry delay and keeps
// nothing. Thread safety: handlers run on any io thread.
#pragma once

#include <functional>
#include <optional>

#include "import/decode/attribute_rules.h"
#include "net/grpc_server.h"
#include "net/http_message.h"
#include "pipeline/counters.h"
#include "pipeline/pipeline.h"
#include "security/authorize.h"
#include "security/tenant_limits.h"
#include "server/event_sink.h"
#include "server/self_trace.h"

namespace wf::server {

struct ReceiverContext {
  EventSink sink;
  const security::Authorizer& authorizer;
  pipeline::Counters& counters;
  decode::DecodeOptions decode;
  pipeline::Tailer* tailer = nullptr;        // null: no trace is refused for its length
  SelfTrace* self = nullptr;                 // null: requests are not traced
  security::TenantLimits* limits = nullptr;  // null: none
};

net::GrpcMethods OtlpGrpcMethods(const ReceiverContext& context);
net::HttpHandler OtlpHttpHandler(const ReceiverContext& context);
net::HttpHandler ZipkinHandler(const ReceiverContext& context);
net::HttpHandler JaegerHandler(const ReceiverContext& context);
// Strangers are told so before what they send is held; whether somebody may do what he asks for is seen later. For
// listeners of a server with accounts; `authorizer` outlives them.
std::optional<net::HttpResponse> RefuseStranger(const security::Authorizer& authorizer,
                                                const net::HttpRequest& head);
std::optional<net::GrpcReply> RefuseStranger(const security::Authorizer& authorizer,
                                             const net::GrpcRequest& head);
// POST /api/v1/events of the web and API listener: JSON lines, or libwherefore's binary form by its Content-Type.
void ReceiveEvents(const ReceiverContext& context, const net::HttpRequest& request,
                   const security::Principal& principal, net::HttpResponder respond);

}  // namespace wf::server
