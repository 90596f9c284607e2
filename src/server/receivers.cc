#include "server/receivers.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "answer/frame/answer.h"
#include "import/events/events_binary_decoder.h"
#include "import/events/events_decoder.h"
#include "import/jaeger/jaeger_decoder.h"
#include "import/otlp/otlp_decoder.h"
#include "import/zipkin/zipkin_decoder.h"
#include "json/json_writer.h"
#include "log/log.h"
#include "model/packed.h"

namespace wf::server {
namespace {

constexpr Nanos kRetryDelay = kSecond;

using Decode = std::function<Status(std::string_view, const decode::DecodeOptions&, EventBatch&,
                                    decode::DecodeReport&)>;
using Count = Result<int64_t> (*)(std::string_view);

// What becomes of one request: turned away, or an error, or a report that may name rejected spans.
struct Outcome {
  std::optional<security::Refusal> refusal;
  Status status;
  decode::DecodeReport report;
  bool ok() const { return !refusal && status.ok(); }
  const Error& error() const { return refusal ? refusal->error : status.error(); }
};
using Finish = std::function<void(const Outcome&)>;

// Limits → decode → append → finish, the same for every protocol.
void ReceiveFrom(const ReceiverContext& context, const security::Principal& principal,
                 std::string_view protocol, std::string_view body, const Decode& decode,
                 const Finish& finish) {
  const auto count = [&](std::string_view what, int64_t n) {
    if (n != 0) context.counters.Add(std::string(protocol) + "_" + std::string(what), n);
  };
  const auto limited = [&](security::Refusal refusal) {
    count("requests_limited", 1);
    refusal.who = principal.name;
    finish({std::move(refusal), {}, {}});
  };
  const auto bytes = static_cast<int64_t>(body.size());
  if (context.limits != nullptr)
    if (auto refusal = context.limits->AdmitBytes(principal.tenant, bytes))
      return limited(std::move(*refusal));
  decode::DecodeReport report;
  OwnWorkPtr work;
  if (context.self != nullptr)
    work = context.self->Begin("receive " + std::string(protocol), SpanKind::kServer);
  if (work != nullptr) {
    work->Note("bytes", std::to_string(body.size()));
    work->Step("decode");
  }
  EventBatch batch;
  batch.tenant = principal.tenant;
  batch.received_ns = Now();
  if (const Status status = decode(body, context.decode, batch, report); !status.ok()) {
    count("requests_malformed", 1);
    if (work != nullptr) work->Fail(status.error().message);
    return finish({{}, status, std::move(report)});
  }
  if (context.tailer != nullptr) {
    if (const int64_t refused = context.tailer->DropRefused(batch); refused != 0) {
      report.Reject("trace_too_long", refused);
      report.accepted -= refused;
    }
  }
  const auto rows = static_cast<int64_t>(batch.size());
  if (context.limits != nullptr)
    if (auto refusal = context.limits->AdmitSpans(principal.tenant, rows, bytes))
      return limited(std::move(*refusal));
  const std::string noun = protocol == "events" ? "" : "_spans";
  count(noun.empty() ? "rejected" : "spans_rejected", report.rejected);
  for (const auto& [name, n] : report.repairs) count("repaired_" + name, n);
  if (batch.empty()) return finish({{}, {}, std::move(report)});
  std::atomic<int64_t>& accepted =
      context.counters.Named(std::string(protocol) + noun + "_accepted");
  std::atomic<int64_t>& refused =
      context.counters.Named(std::string(protocol) + "_requests_refused");
  if (work != nullptr) {
    work->Note("events", std::to_string(rows));
    work->Step("keep");
  }
  context.sink(std::move(batch), [finish, report = std::move(report), rows, &accepted, &refused,
                                  work, limits = context.limits,
                                  tenant = principal.tenant](Status status) mutable {
    if (work != nullptr && !status.ok()) work->Fail(status.error().message);
    (status.ok() ? accepted : refused).fetch_add(status.ok() ? rows : 1, std::memory_order_relaxed);
    if (limits != nullptr && status.ok()) limits->Count(tenant, "events_accepted", rows);
    finish({{}, std::move(status), std::move(report)});
  });
}

// The same behind Authorize.
void Receive(const ReceiverContext& context, const security::Credentials& credentials,
             std::string_view protocol, std::string_view body, const Decode& decode,
             const Finish& finish) {
  const auto principal = context.authorizer.Authorize(credentials, security::Right::kWrite,
                                                      security::HostCheck::kAnyHost);
  if (principal.ok()) return ReceiveFrom(context, *principal, protocol, body, decode, finish);
  context.counters.Add(std::string(protocol) + "_requests_denied", 1);
  finish({principal.refusal(), {}, {}});
}

// Export…ServiceResponse: field 1 is the partial success {1: rejected, 2: reason}; empty when all was accepted.
std::string OtlpReply(int64_t rejected, const std::string& reason) {
  if (rejected == 0 && reason.empty()) return {};
  std::string partial, reply;
  if (rejected != 0) {
    partial.push_back(0x08);
    PutVarint(static_cast<uint64_t>(rejected), partial);
  }
  partial.push_back(0x12);
  PutVarint(reason.size(), partial);
  partial += reason;
  reply.push_back(0x0A);
  PutVarint(partial.size(), reply);
  return reply + partial;
}

std::string OtlpReplyJson(std::string_view rejected_name, int64_t rejected,
                          const std::string& reason) {
  JsonWriter json;
  json.BeginObject();
  if (rejected != 0 || !reason.empty()) {
    json.Key("partialSuccess").BeginObject();
    // int64 is a string in protobuf's JSON.
    json.Field(rejected_name, std::to_string(rejected)).Field("errorMessage", reason).EndObject();
  }
  json.EndObject();
  return json.Take();
}

int GrpcCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
    case ErrorCode::kNotFound:
      return net::kGrpcInvalidArgument;
    case ErrorCode::kDenied:
      return net::kGrpcPermissionDenied;
    case ErrorCode::kOverloaded:
      return net::kGrpcResourceExhausted;
    case ErrorCode::kEnvironment:
      return net::kGrpcUnavailable;  // retryable: nothing was kept
  }
  return net::kGrpcInternal;
}

std::string ErrorText(const Error& error) {
  return error.hint.empty() ? error.message : error.message + " (" + error.hint + ")";
}

int GrpcCodeOf(const Outcome& outcome) {
  if (!outcome.refusal) return GrpcCodeOf(outcome.status.error().code);
  switch (outcome.refusal->kind) {
    case security::Refusal::Kind::kUnknown:
      return net::kGrpcUnauthenticated;
    case security::Refusal::Kind::kForbidden:
      return net::kGrpcPermissionDenied;
    case security::Refusal::Kind::kTooMuch:
    case security::Refusal::Kind::kTooLarge:
      return net::kGrpcResourceExhausted;
  }
  return net::kGrpcInternal;
}

net::GrpcReply GrpcError(const Outcome& outcome) {
  const Error& error = outcome.error();
  net::GrpcReply reply{GrpcCodeOf(outcome), ErrorText(error), {}, {}};
  // Exporters try again when they are told when, and only then.
  if (outcome.refusal) {
    if (outcome.refusal->kind == security::Refusal::Kind::kTooMuch)
      reply.retry_delay = std::max(kRetryDelay, outcome.refusal->retry_after);
  } else if (error.code == ErrorCode::kOverloaded || error.code == ErrorCode::kEnvironment) {
    reply.retry_delay = kRetryDelay;
  }
  return reply;
}

// Status and headers of an answer to what was turned away or failed.
void SetHttpError(const Outcome& outcome, net::HttpResponse& response) {
  if (outcome.refusal) return outcome.refusal->AddTo(response);
  switch (outcome.status.error().code) {
    case ErrorCode::kOverloaded:
      response.status = 429;
      break;
    case ErrorCode::kDenied:
      response.status = 403;
      break;
    case ErrorCode::kEnvironment:
      response.status = 503;
      break;
    default:
      response.status = 400;
  }
  if (response.status == 429 || response.status == 503)
    response.headers.emplace_back("Retry-After", "1");
}

// google.rpc.Status {1: code, 2: message}, what OTLP/HTTP puts into the body of an error.
net::HttpResponse OtlpHttpError(const Outcome& outcome, bool json_body) {
  net::HttpResponse response;
  SetHttpError(outcome, response);
  const int code = GrpcCodeOf(outcome);
  const std::string text = ErrorText(outcome.error());
  if (json_body) {
    JsonWriter json;
    json.BeginObject().Field("code", code).Field("message", text).EndObject();
    response.headers.emplace_back("Content-Type", "application/json");
    response.body = json.Take();
  } else {
    response.headers.emplace_back("Content-Type", "application/x-protobuf");
    response.body.push_back(0x08);
    PutVarint(static_cast<uint64_t>(code), response.body);
    response.body.push_back(0x12);
    PutVarint(text.size(), response.body);
    response.body += text;
  }
  return response;
}

// Logs and metrics: accepted with partial success, so that exporters do not retry what nobody here keeps.
struct UnkeptSignal {
  std::string_view name;           // "logs"
  std::string_view rejected_name;  // in JSON
  Count count, count_json;
};
constexpr char kUnkeptReason[] = "wherefore stores traces only";

// The number of what was sent, in the report.
Outcome CountUnkept(const ReceiverContext& context, const UnkeptSignal& signal,
                    const security::Credentials& credentials, std::string_view body, bool json) {
  auto principal = context.authorizer.Authorize(credentials, security::Right::kWrite,
                                                security::HostCheck::kAnyHost);
  if (!principal.ok()) {
    context.counters.Add("otlp_" + std::string(signal.name) + "_requests_denied", 1);
    return {principal.refusal(), {}, {}};
  }
  if (context.limits != nullptr)
    if (auto refusal =
            context.limits->AdmitBytes(principal->tenant, static_cast<int64_t>(body.size())))
      return {std::move(*refusal), {}, {}};
  const auto n = (json ? signal.count_json : signal.count)(body);
  if (!n.ok()) return {{}, n.error(), {}};
  context.counters.Add("otlp_" + std::string(signal.name) + "_rejected", *n);
  const std::string_view sender = credentials.remote_address;
  const size_t port = sender.rfind(':');  // once per sending host, not per connection
  if (log::LogOnce(std::string(signal.name) + " from " + std::string(sender.substr(0, port)))) {
    log::Info("{} sends OTLP {}: {}; they are rejected and counted", sender.substr(0, port),
              signal.name, kUnkeptReason);
  }
  Outcome outcome;
  outcome.report.rejected = *n;
  return outcome;
}

constexpr UnkeptSignal kLogs{"logs", "rejectedLogRecords", otlp::CountOtlpLogs,
                             otlp::CountOtlpLogsJson};
constexpr UnkeptSignal kMetrics{"metrics", "rejectedDataPoints", otlp::CountOtlpMetrics,
                                otlp::CountOtlpMetricsJson};

security::Credentials CallerOf(const net::GrpcRequest& call) {
  return {call.metadata.Get("authorization"),
          "",
          call.metadata.Get("origin"),
          call.metadata.Get("x-scope-orgid"),
          call.client_certificate,
          call.remote_address};
}

// Responders are move-only and std::function wants copies: one shared holder a request.
template <typename Responder>
std::shared_ptr<Responder> Hold(Responder respond) {
  return std::make_shared<Responder>(std::move(respond));
}

bool IsJson(const net::HttpRequest& request) {
  return request.headers.Get("content-type").substr(0, 16) == "application/json";
}
bool IsProtobuf(const net::HttpRequest& request) {
  return request.headers.Get("content-type").substr(0, 22) == "application/x-protobuf";
}

// A path of this listener accepts POST only.
net::HttpResponse WrongMethod(const net::HttpRequest& request) {
  net::HttpResponse response = net::ErrorResponse(
      405, "bad_input", request.method + " is not a method of " + request.path, "send it by POST");
  response.headers.emplace_back("Allow", "POST");
  return response;
}

net::HttpResponse NoSuchRoute(const net::HttpRequest& request, std::string_view wanted) {
  net::HttpResponse response = net::ErrorResponse(
      404, "not_found", request.method + " " + request.path + ": no such route on this listener",
      "this listener accepts " + std::string(wanted));
  return response;
}

void AnswerUnkeptHttp(const ReceiverContext& context, const UnkeptSignal& signal,
                      const net::HttpRequest& request, net::HttpResponder respond) {
  const bool json = IsJson(request);
  const Outcome outcome =
      CountUnkept(context, signal, security::CredentialsOf(request), request.body, json);
  if (!outcome.ok()) return respond(OtlpHttpError(outcome, json));
  const int64_t n = outcome.report.rejected;
  if (json) {
    return respond({200,
                    {{"Content-Type", "application/json"}},
                    OtlpReplyJson(signal.rejected_name, n, kUnkeptReason)});
  }
  respond({200, {{"Content-Type", "application/x-protobuf"}}, OtlpReply(n, kUnkeptReason)});
}

net::GrpcHandler UnkeptGrpc(const ReceiverContext& context, const UnkeptSignal& signal) {
  return [context, &signal](net::GrpcRequest request, net::GrpcResponder respond) {
    const Outcome outcome = CountUnkept(context, signal, CallerOf(request), request.message, false);
    if (!outcome.ok()) return respond(GrpcError(outcome));
    respond({net::kGrpcOk, {}, OtlpReply(outcome.report.rejected, kUnkeptReason), {}});
  };
}

net::HttpResponse CollectorError(const Outcome& outcome) {
  net::HttpResponse response{
      400, {{"Content-Type", "application/json"}}, answer::ErrorJson(outcome.error())};
  SetHttpError(outcome, response);
  return response;
}

// {"accepted","rejected","reasons":{},"lines":[{"line","reason"}],"message"}: the last two only when something was
// rejected.
std::string EventsReply(const decode::DecodeReport& report,
                        const std::vector<events::LineFault>& faults) {
  JsonWriter json;
  json.BeginObject().Field("accepted", report.accepted).Field("rejected", report.rejected);
  json.Key("reasons").BeginObject();
  for (const auto& [reason, count] : report.reasons) json.Field(reason, count);
  json.EndObject();
  if (report.rejected != 0) {
    json.Key("lines").BeginArray();
    for (const events::LineFault& fault : faults) {
      json.BeginObject().Field("line", fault.line).Field("reason", fault.reason).EndObject();
    }
    json.EndArray().Field("message", report.RejectedText());
  }
  json.EndObject();
  return json.Take() + "\n";
}

// Zipkin and Jaeger collectors answer 202 and an empty body.
net::HttpHandler SimpleCollector(const ReceiverContext& context, std::string_view protocol,
                                 std::string_view path, Decode decode) {
  return [context, protocol, path, decode](net::HttpRequest request, net::HttpResponder respond) {
    if (request.path != path) return respond(NoSuchRoute(request, "POST " + std::string(path)));
    if (request.method != "POST") return respond(WrongMethod(request));
    const auto held = Hold(std::move(respond));
    Receive(context, security::CredentialsOf(request), protocol, request.body, decode,
            [held](const Outcome& outcome) {
              if (!outcome.ok()) return (*held)(CollectorError(outcome));
              net::HttpResponse response{202, {}, {}};
              if (outcome.report.rejected != 0) {
                response.headers.emplace_back("Content-Type", "text/plain");
                response.body = outcome.report.RejectedText() + "\n";
              }
              (*held)(std::move(response));
            });
  };
}

}  // namespace

net::GrpcMethods OtlpGrpcMethods(const ReceiverContext& context) {
  const std::string prefix = "/opentelemetry.proto.collector.";
  net::GrpcMethods methods;
  methods[prefix + "trace.v1.TraceService/Export"] = [context](net::GrpcRequest request,
                                                               net::GrpcResponder respond) {
    const auto held = Hold(std::move(respond));
    Receive(context, CallerOf(request), "otlp_grpc", request.message, otlp::DecodeOtlpProtobuf,
            [held](const Outcome& outcome) {
              if (!outcome.ok()) return (*held)(GrpcError(outcome));
              const decode::DecodeReport& report = outcome.report;
              (*held)({net::kGrpcOk, {}, OtlpReply(report.rejected, report.RejectedText()), {}});
            });
  };
  methods[prefix + "logs.v1.LogsService/Export"] = UnkeptGrpc(context, kLogs);
  methods[prefix + "metrics.v1.MetricsService/Export"] = UnkeptGrpc(context, kMetrics);
  return methods;
}

net::HttpHandler OtlpHttpHandler(const ReceiverContext& context) {
  return [context](net::HttpRequest request, net::HttpResponder respond) {
    const bool known =
        request.path == "/v1/traces" || request.path == "/v1/logs" || request.path == "/v1/metrics";
    if (!known) return respond(NoSuchRoute(request, "POST /v1/traces, /v1/logs and /v1/metrics"));
    if (request.method != "POST") return respond(WrongMethod(request));
    const bool json = IsJson(request);
    if (!json && !IsProtobuf(request)) {
      return respond(net::ErrorResponse(
          415, "bad_input",
          "Content-Type \"" + std::string(request.headers.Get("content-type")) + "\" is not OTLP",
          "send application/x-protobuf or application/json"));
    }
    if (request.path == "/v1/logs")
      return AnswerUnkeptHttp(context, kLogs, request, std::move(respond));
    if (request.path == "/v1/metrics")
      return AnswerUnkeptHttp(context, kMetrics, request, std::move(respond));
    const auto held = Hold(std::move(respond));
    Receive(context, security::CredentialsOf(request), "otlp_http", request.body,
            json ? otlp::DecodeOtlpJson : otlp::DecodeOtlpProtobuf,
            [held, json](const Outcome& outcome) {
              if (!outcome.ok()) return (*held)(OtlpHttpError(outcome, json));
              const decode::DecodeReport& report = outcome.report;
              if (json) {
                return (*held)(
                    {200,
                     {{"Content-Type", "application/json"}},
                     OtlpReplyJson("rejectedSpans", report.rejected, report.RejectedText())});
              }
              (*held)({200,
                       {{"Content-Type", "application/x-protobuf"}},
                       OtlpReply(report.rejected, report.RejectedText())});
            });
  };
}

net::HttpHandler ZipkinHandler(const ReceiverContext& context) {
  return SimpleCollector(context, "zipkin", "/api/v2/spans", zipkin::DecodeZipkinJson);
}

net::HttpHandler JaegerHandler(const ReceiverContext& context) {
  return SimpleCollector(context, "jaeger", "/api/traces", jaeger::DecodeJaegerThrift);
}

std::optional<net::HttpResponse> RefuseStranger(const security::Authorizer& authorizer,
                                                const net::HttpRequest& head) {
  if (!authorizer.has_accounts()) return std::nullopt;
  const auto somebody = authorizer.Authorize(security::CredentialsOf(head), security::Right::kAny,
                                             security::HostCheck::kEventPages);
  if (somebody.ok()) return std::nullopt;
  return CollectorError({somebody.refusal(), {}, {}});
}

std::optional<net::GrpcReply> RefuseStranger(const security::Authorizer& authorizer,
                                             const net::GrpcRequest& head) {
  if (!authorizer.has_accounts()) return std::nullopt;
  const auto somebody =
      authorizer.Authorize(CallerOf(head), security::Right::kAny, security::HostCheck::kAnyHost);
  if (somebody.ok()) return std::nullopt;
  return GrpcError({somebody.refusal(), {}, {}});
}

void ReceiveEvents(const ReceiverContext& context, const net::HttpRequest& request,
                   const security::Principal& principal, net::HttpResponder respond) {
  const bool binary =
      request.headers.Get("content-type").substr(0, events::kEventsBinaryContentType.size()) ==
      events::kEventsBinaryContentType;
  const auto held = Hold(std::move(respond));
  const auto faults = std::make_shared<std::vector<events::LineFault>>();
  const Decode lines = [faults](std::string_view body, const decode::DecodeOptions& options,
                                EventBatch& batch, decode::DecodeReport& report) -> Status {
    events::DecodeEventLines(body, options, batch, report, *faults);
    if (report.accepted != 0 || report.rejected == 0) return {};
    return BadInput("events: no line could be read: " + report.RejectedText(),
                    "each line is one event: {\"trace_id\",\"type\",\"id1\",\"time_ns\",…}");
  };
  ReceiveFrom(
      context, principal, "events", request.body,
      binary ? Decode(events::DecodeEventsBinary) : lines, [held, faults](const Outcome& outcome) {
        if (!outcome.ok()) return (*held)(CollectorError(outcome));
        (*held)(
            {200, {{"Content-Type", "application/json"}}, EventsReply(outcome.report, *faults)});
      });
}

}  // namespace wf::server
