#include "server/receivers.h"

#include <memory>

#include "answer/answer.h"
#include "import/events/events_binary_decoder.h"
#include "import/events/events_decoder.h"
#include "import/jaeger/jaeger_decoder.h"
#include "import/otlp/otlp_decoder.h"
#include "import/zipkin/zipkin_decoder.h"
#include "json/json_writer.h"
#include "log/log.h"
#include "model/packed.h"

namespace wf {
namespace {

constexpr Nanos kRetryDelay = kSecond;

using Decode =
    std::function<Status(std::string_view, const DecodeOptions&, EventBatch&, DecodeReport&)>;
using Count = Result<int64_t> (*)(std::string_view);

// Outcome of one request: an error, or a report that may name rejected spans.
using Finish = std::function<void(Status, const DecodeReport&)>;

// Authorize → decode → append → finish, the same for every protocol.
void Receive(const ReceiverContext& context, const Credentials& credentials,
             std::string_view protocol, std::string_view body, const Decode& decode,
             Finish finish) {
  const auto count = [&](std::string_view what, int64_t n) {
    if (n != 0) context.counters.Add(std::string(protocol) + "_" + std::string(what), n);
  };
  DecodeReport report;
  OwnWorkPtr work;
  if (context.self != nullptr)
    work = context.self->Begin("receive " + std::string(protocol), SpanKind::kServer);
  if (work != nullptr) {
    work->Note("bytes", std::to_string(body.size()));
    work->Step("decode");
  }
  auto principal = context.authorizer.Authorize(
      credentials, Right::kWrite,
      protocol == "events" ? HostCheck::kEventPages : HostCheck::kAnyHost);
  if (!principal.ok()) {
    count("requests_denied", 1);
    return finish(principal.error(), report);
  }
  EventBatch batch;
  batch.tenant = principal->tenant;
  batch.received_ns = Now();
  if (const Status status = decode(body, context.decode, batch, report); !status.ok()) {
    count("requests_malformed", 1);
    if (work != nullptr) work->Fail(status.error().message);
    return finish(status, report);
  }
  if (context.tailer != nullptr) {
    if (const int64_t refused = context.tailer->DropRefused(batch); refused != 0) {
      report.Reject("trace_too_long", refused);
      report.accepted -= refused;
    }
  }
  const std::string noun = protocol == "events" ? "" : "_spans";
  count(noun.empty() ? "rejected" : "spans_rejected", report.rejected);
  for (const auto& [name, n] : report.repairs) count("repaired_" + name, n);
  if (batch.empty()) return finish({}, report);
  std::atomic<int64_t>& accepted =
      context.counters.Named(std::string(protocol) + noun + "_accepted");
  std::atomic<int64_t>& refused =
      context.counters.Named(std::string(protocol) + "_requests_refused");
  const auto rows = static_cast<int64_t>(batch.size());
  if (work != nullptr) {
    work->Note("events", std::to_string(rows));
    work->Step("keep");
  }
  context.sink(std::move(batch), [finish = std::move(finish), report = std::move(report), rows,
                                  &accepted, &refused, work](Status status) {
    if (work != nullptr && !status.ok()) work->Fail(status.error().message);
    (status.ok() ? accepted : refused).fetch_add(status.ok() ? rows : 1, std::memory_order_relaxed);
    finish(std::move(status), report);
  });
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

net::GrpcReply GrpcError(const Error& error) {
  net::GrpcReply reply{GrpcCodeOf(error.code), ErrorText(error), {}, {}};
  if (error.code == ErrorCode::kOverloaded || error.code == ErrorCode::kEnvironment)
    reply.retry_delay = kRetryDelay;
  return reply;
}

// google.rpc.Status {1: code, 2: message}, what OTLP/HTTP puts into the body of an error.
net::HttpResponse OtlpHttpError(const Error& error, bool json_body) {
  net::HttpResponse response;
  switch (error.code) {
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
  const std::string text = ErrorText(error);
  if (json_body) {
    JsonWriter json;
    json.BeginObject().Field("code", GrpcCodeOf(error.code)).Field("message", text).EndObject();
    response.headers.emplace_back("Content-Type", "application/json");
    response.body = json.Take();
  } else {
    response.headers.emplace_back("Content-Type", "application/x-protobuf");
    response.body.push_back(0x08);
    PutVarint(static_cast<uint64_t>(GrpcCodeOf(error.code)), response.body);
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
constexpr char kUnkeptReason[] = "wherefore keeps traces only";

Result<int64_t> CountUnkept(const ReceiverContext& context, const UnkeptSignal& signal,
                            const Credentials& credentials, std::string_view body, bool json,
                            std::string_view sender) {
  auto principal = context.authorizer.Authorize(credentials, Right::kWrite, HostCheck::kAnyHost);
  if (!principal.ok()) return principal.error();
  WF_ASSIGN(const int64_t n, (json ? signal.count_json : signal.count)(body));
  context.counters.Add("otlp_" + std::string(signal.name) + "_rejected", n);
  const size_t port = sender.rfind(':');  // once per sending host, not per connection
  if (log::LogOnce(std::string(signal.name) + " from " + std::string(sender.substr(0, port)))) {
    log::Info("{} sends OTLP {}: {}; they are rejected and counted", sender.substr(0, port),
              signal.name, kUnkeptReason);
  }
  return n;
}

constexpr UnkeptSignal kLogs{"logs", "rejectedLogRecords", CountOtlpLogs, CountOtlpLogsJson};
constexpr UnkeptSignal kMetrics{"metrics", "rejectedDataPoints", CountOtlpMetrics,
                                CountOtlpMetricsJson};

Credentials CredentialsOf(const net::HttpHeaders& headers) {
  return {headers.Get("authorization"), headers.Get("host"), headers.Get("origin")};
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

// A path of this listener takes POST only.
net::HttpResponse WrongMethod(const net::HttpRequest& request) {
  net::HttpResponse response = net::ErrorResponse(
      405, "bad_input", request.method + " is not a method of " + request.path, "send it by POST");
  response.headers.emplace_back("Allow", "POST");
  return response;
}

net::HttpResponse NoSuchRoute(const net::HttpRequest& request, std::string_view wanted) {
  net::HttpResponse response = net::ErrorResponse(
      404, "not_found", request.method + " " + request.path + ": no such route here",
      "this listener takes " + std::string(wanted));
  return response;
}

void AnswerUnkeptHttp(const ReceiverContext& context, const UnkeptSignal& signal,
                      const net::HttpRequest& request, net::HttpResponder respond) {
  const bool json = IsJson(request);
  auto n = CountUnkept(context, signal, CredentialsOf(request.headers), request.body, json,
                       request.remote_address);
  if (!n.ok()) return respond(OtlpHttpError(n.error(), json));
  if (json) {
    return respond({200,
                    {{"Content-Type", "application/json"}},
                    OtlpReplyJson(signal.rejected_name, *n, kUnkeptReason)});
  }
  respond({200, {{"Content-Type", "application/x-protobuf"}}, OtlpReply(*n, kUnkeptReason)});
}

net::GrpcHandler UnkeptGrpc(const ReceiverContext& context, const UnkeptSignal& signal) {
  return [context, &signal](net::GrpcRequest request, net::GrpcResponder respond) {
    auto n = CountUnkept(context, signal, CredentialsOf(request.metadata), request.message, false,
                         request.remote_address);
    if (!n.ok()) return respond(GrpcError(n.error()));
    respond({net::kGrpcOk, {}, OtlpReply(*n, kUnkeptReason), {}});
  };
}

net::HttpResponse CollectorError(const Error& error) {
  net::HttpResponse response{400, {{"Content-Type", "application/json"}}, ErrorJson(error)};
  if (error.code == ErrorCode::kDenied) response.status = 403;
  if (error.code == ErrorCode::kOverloaded) response.status = 429;
  if (error.code == ErrorCode::kEnvironment) response.status = 503;
  if (response.status == 429 || response.status == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  return response;
}

// {"accepted","rejected","reasons":{},"lines":[{"line","reason"}],"message"}: the last two only when something was
// rejected.
std::string EventsReply(const DecodeReport& report, const std::vector<LineFault>& faults) {
  JsonWriter json;
  json.BeginObject().Field("accepted", report.accepted).Field("rejected", report.rejected);
  json.Key("reasons").BeginObject();
  for (const auto& [reason, count] : report.reasons) json.Field(reason, count);
  json.EndObject();
  if (report.rejected != 0) {
    json.Key("lines").BeginArray();
    for (const LineFault& fault : faults) {
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
    Receive(context, CredentialsOf(request.headers), protocol, request.body, decode,
            [held](const Status& status, const DecodeReport& report) {
              if (!status.ok()) {
                return (*held)(CollectorError(status.error()));
              }
              net::HttpResponse response{202, {}, {}};
              if (report.rejected != 0) {
                response.headers.emplace_back("Content-Type", "text/plain");
                response.body = report.RejectedText() + "\n";
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
    Receive(context, CredentialsOf(request.metadata), "otlp_grpc", request.message,
            DecodeOtlpProtobuf, [held](const Status& status, const DecodeReport& report) {
              if (!status.ok()) return (*held)(GrpcError(status.error()));
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
    Receive(context, CredentialsOf(request.headers), "otlp_http", request.body,
            json ? DecodeOtlpJson : DecodeOtlpProtobuf,
            [held, json](const Status& status, const DecodeReport& report) {
              if (!status.ok()) return (*held)(OtlpHttpError(status.error(), json));
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
  return SimpleCollector(context, "zipkin", "/api/v2/spans", DecodeZipkinJson);
}

net::HttpHandler JaegerHandler(const ReceiverContext& context) {
  return SimpleCollector(context, "jaeger", "/api/traces", DecodeJaegerThrift);
}

void ReceiveEvents(const ReceiverContext& context, const net::HttpRequest& request,
                   net::HttpResponder respond) {
  const bool binary =
      request.headers.Get("content-type").substr(0, kEventsBinaryContentType.size()) ==
      kEventsBinaryContentType;
  const auto held = Hold(std::move(respond));
  const auto faults = std::make_shared<std::vector<LineFault>>();
  const Decode lines = [faults](std::string_view body, const DecodeOptions& options,
                                EventBatch& batch, DecodeReport& report) -> Status {
    DecodeEventLines(body, options, batch, report, *faults);
    if (report.accepted != 0 || report.rejected == 0) return {};
    return BadInput("events: no line could be taken: " + report.RejectedText(),
                    "each line is one event: {\"trace_id\",\"type\",\"id1\",\"time_ns\",…}");
  };
  Receive(context, CredentialsOf(request.headers), "events", request.body,
          binary ? Decode(DecodeEventsBinary) : lines,
          [held, faults](const Status& status, const DecodeReport& report) {
            if (!status.ok()) return (*held)(CollectorError(status.error()));
            (*held)({200, {{"Content-Type", "application/json"}}, EventsReply(report, *faults)});
          });
}

}  // namespace wf
