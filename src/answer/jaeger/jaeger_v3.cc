#include "answer/jaeger/jaeger_v3.h"

#include "answer/jaeger/jaeger_otlp_json.h"
#include "answer/jaeger/jaeger_search.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

JaegerAnswer FailedV3(int status, const std::string& message) {
  JsonWriter out;
  out.BeginObject().Key("error").BeginObject();
  out.Field("httpCode", status).Field("message", message).EndObject().EndObject();
  return {status, out.Take()};
}

JaegerAnswer FailedV3(const Error& error) {
  return FailedV3(JaegerStatus(error.code), error.message);
}

JaegerAnswer ServicesV3(store::EventStore& store, const std::string& tenant) {
  const auto services = store.Services(tenant);
  if (!services.ok()) return FailedV3(services.error());
  JsonWriter out;
  out.BeginObject().Key("services").BeginArray();
  for (const std::string& service : *services) out.String(service);
  out.EndArray().EndObject();
  return {200, out.Take()};
}

JaegerAnswer OperationsV3(store::EventStore& store, const std::string& tenant,
                          const QueryParams& params) {
  const std::string* service = FindParam(params, "service");
  if (service == nullptr) return FailedV3(400, "parameter 'service' is required");
  const std::string* kind = FindParam(params, "span_kind");
  if (kind == nullptr) kind = FindParam(params, "spanKind");
  const auto operations = store.Operations(tenant, *service);
  if (!operations.ok()) return FailedV3(operations.error());
  JsonWriter out;
  out.BeginObject().Key("operations").BeginArray();
  for (const store::EventStore::Operation& operation : *operations) {
    // As Jaeger does: an unspecified kind counts as internal.
    std::string_view text = JaegerSpanKind(operation.kind);
    if (text.empty()) text = "internal";
    if (kind != nullptr && text != *kind) continue;
    out.BeginObject().Field("name", operation.name).Field("spanKind", text).EndObject();
  }
  out.EndArray().EndObject();
  return {200, out.Take()};
}

JaegerAnswer TracesV3(store::EventStore& store, const std::string& tenant,
                      const JaegerSearch& search) {
  const auto found = FindJaegerTraces(store, tenant, search);
  if (!found.ok()) return FailedV3(found.error());
  if (found->traces.empty()) return FailedV3(404, "No traces found");
  JsonWriter out;
  out.BeginObject().Key("result").BeginObject().Key("resourceSpans");
  WriteResourceSpans(found->batch, found->traces, out);
  out.EndObject();
  if (!found->notes.empty()) {
    // v3 has no other place to say that the answer is not whole; a code of 200 is no failure to
    // Grafana.
    out.Key("error")
        .BeginObject()
        .Field("httpCode", 200)
        .Field("message", found->notes.front())
        .EndObject();
  }
  out.EndObject();
  return {200, out.Take()};
}

}  // namespace

std::optional<JaegerAnswer> AnswerJaegerV3(store::EventStore& store, const std::string& tenant,
                                           std::string_view path, const QueryParams& params) {
  if (path == "/api/v3/services") return ServicesV3(store, tenant);
  if (path == "/api/v3/operations") return OperationsV3(store, tenant, params);
  if (path == "/api/v3/traces") {
    const auto search = ParseJaegerV3Search(params);
    if (!search.ok()) return FailedV3(search.error());
    return TracesV3(store, tenant, *search);
  }
  constexpr std::string_view kById = "/api/v3/traces/";
  if (path.substr(0, kById.size()) == kById) {
    const auto id = ParseTraceId(std::string(path.substr(kById.size())));
    if (!id.ok()) return FailedV3(400, "malformed parameter trace_id: " + id.error().message);
    const Status hints = CheckJaegerV3TimeHints(params);
    if (!hints.ok()) return FailedV3(hints.error());
    JaegerSearch search;
    search.ids = {*id};
    return TracesV3(store, tenant, search);
  }
  return std::nullopt;
}

}  // namespace wf::answer
