#include "answer/jaeger/jaeger_query.h"

#include <set>

#include "answer/jaeger/jaeger_dependencies.h"
#include "answer/jaeger/jaeger_search.h"
#include "answer/jaeger/jaeger_trace_json.h"
#include "answer/jaeger/jaeger_v3.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

// Reading this many spans takes a few seconds; a day's window of a busy system holds more.
constexpr uint64_t kMaxDependencySpans = 2'000'000;

struct Envelope {
  uint64_t total = 0, limit = 0;
};

// Jaeger's answers all look alike: {"data":…,"total","limit","offset","errors"}.
template <typename WriteData, typename WriteErrors>
JaegerAnswer Wrap(int status, const Envelope& envelope, const WriteData& data,
                  const WriteErrors& errors) {
  JsonWriter out;
  out.BeginObject().Key("data");
  data(out);
  out.Field("total", envelope.total)
      .Field("limit", envelope.limit)
      .Field("offset", 0)
      .Key("errors");
  errors(out);
  out.EndObject();
  return {status, out.Take()};
}

template <typename WriteData>
JaegerAnswer Wrap(const Envelope& envelope, const WriteData& data) {
  return Wrap(200, envelope, data, [](JsonWriter& out) { out.Null(); });
}

JaegerAnswer Failed(int status, const std::string& message) {
  return Wrap(
      status, {}, [](JsonWriter& out) { out.Null(); },
      [&](JsonWriter& out) {
        out.BeginArray()
            .BeginObject()
            .Field("code", status)
            .Field("msg", message)
            .EndObject()
            .EndArray();
      });
}

JaegerAnswer Failed(const Error& error) {
  const std::string hint = error.hint.empty() ? "" : " (" + error.hint + ")";
  return Failed(JaegerStatus(error.code), error.message + hint);
}

void WriteFindErrors(const JaegerFound& found, JsonWriter& out) {
  if (found.not_found.empty() && found.notes.empty()) {
    out.Null();
    return;
  }
  out.BeginArray();
  for (const TraceId& id : found.not_found) {
    out.BeginObject().Field("msg", "trace not found").Field("traceID", ToHex(id)).EndObject();
  }
  for (const std::string& note : found.notes) out.BeginObject().Field("msg", note).EndObject();
  out.EndArray();
}

JaegerAnswer WriteFound(const JaegerFound& found) {
  return Wrap(
      200, {},
      [&](JsonWriter& out) {
        out.BeginArray();
        for (const TraceRows& trace : found.traces) WriteJaegerTrace(found.batch, trace.rows, out);
        out.EndArray();
      },
      [&](JsonWriter& out) { WriteFindErrors(found, out); });
}

// The part of `path` after `prefix`, if it has the prefix.
std::optional<std::string_view> After(std::string_view path, std::string_view prefix) {
  if (path.substr(0, prefix.size()) != prefix) return std::nullopt;
  return path.substr(prefix.size());
}

}  // namespace

int JaegerStatus(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kBadInput:
      return 400;
    case ErrorCode::kEnvironment:
      return 500;
    case ErrorCode::kOverloaded:
      return 503;
    case ErrorCode::kDenied:
      return 403;
  }
  return 500;
}

JaegerAnswer JaegerServices(store::EventStore& store, const std::string& tenant) {
  const auto services = store.Services(tenant);
  if (!services.ok()) return Failed(services.error());
  return Wrap({services->size()}, [&](JsonWriter& out) {
    out.BeginArray();
    for (const std::string& service : *services) out.String(service);
    out.EndArray();
  });
}

JaegerAnswer JaegerOperationNames(store::EventStore& store, const std::string& tenant,
                                  const std::string& service) {
  const auto operations = store.Operations(tenant, service);
  if (!operations.ok()) return Failed(operations.error());
  std::set<std::string> names;
  for (const store::EventStore::Operation& operation : *operations) names.insert(operation.name);
  return Wrap({names.size()}, [&](JsonWriter& out) {
    out.BeginArray();
    for (const std::string& name : names) out.String(name);
    out.EndArray();
  });
}

JaegerAnswer JaegerOperations(store::EventStore& store, const std::string& tenant,
                              const QueryParams& params) {
  const std::string* service = FindParam(params, "service");
  if (service == nullptr) return Failed(BadInput("parameter 'service' is required"));
  const std::string* kind = FindParam(params, "spanKind");
  const auto operations = store.Operations(tenant, *service);
  if (!operations.ok()) return Failed(operations.error());
  std::vector<store::EventStore::Operation> wanted;
  for (const store::EventStore::Operation& operation : *operations) {
    if (kind == nullptr || JaegerSpanKind(operation.kind) == *kind) wanted.push_back(operation);
  }
  return Wrap({wanted.size()}, [&](JsonWriter& out) {
    out.BeginArray();
    for (const store::EventStore::Operation& operation : wanted) {
      out.BeginObject()
          .Field("name", operation.name)
          .Field("spanKind", JaegerSpanKind(operation.kind))
          .EndObject();
    }
    out.EndArray();
  });
}

JaegerAnswer JaegerTrace(store::EventStore& store, const std::string& tenant, std::string_view id,
                         const QueryParams& params) {
  const auto trace_id = ParseTraceId(id);
  if (!trace_id.ok()) return Failed(trace_id.error());
  const Status hints = CheckJaegerTimeHints(params);
  if (!hints.ok()) return Failed(hints.error());
  JaegerSearch search;
  search.ids = {*trace_id};
  auto found = FindJaegerTraces(store, tenant, search);
  if (!found.ok()) return Failed(found.error());
  if (found->traces.empty()) return Failed(404, "trace not found");
  return WriteFound(*found);
}

JaegerAnswer JaegerTraces(store::EventStore& store, const std::string& tenant,
                          const QueryParams& params, Nanos now) {
  const auto search = ParseJaegerSearch(params, now);
  if (!search.ok()) return Failed(search.error());
  const auto found = FindJaegerTraces(store, tenant, *search);
  if (!found.ok()) return Failed(found.error());
  return WriteFound(*found);
}

JaegerAnswer JaegerDependencies(store::Store& store, const std::string& tenant,
                                const QueryParams& params, Nanos now) {
  const auto time = ParseJaegerDependencies(params, now);
  if (!time.ok()) return Failed(time.error());
  const std::string* service = FindParam(params, "service");
  const auto dependencies = CountDependencies(store, tenant, *time, kMaxDependencySpans);
  if (!dependencies.ok()) return Failed(dependencies.error());
  // Grafana takes any entry of "errors" for a failure, so a capped count is told by total ≥ limit >
  // 0.
  return Wrap({dependencies->looked_at, dependencies->limit}, [&](JsonWriter& out) {
    out.BeginArray();
    for (const DependencyLink& link : dependencies->links) {
      if (service != nullptr && link.parent != *service && link.child != *service) continue;
      out.BeginObject()
          .Field("parent", link.parent)
          .Field("child", link.child)
          .Field("callCount", link.call_count)
          .EndObject();
    }
    out.EndArray();
  });
}

std::optional<JaegerAnswer> AnswerJaegerQuery(store::Store& store, const std::string& tenant,
                                              std::string_view method, std::string_view path,
                                              const QueryParams& params, Nanos now) {
  if (method != "GET" && method != "HEAD") return std::nullopt;
  if (After(path, "/api/v3/")) return AnswerJaegerV3(store, tenant, path, params);
  if (path == "/api/services") return JaegerServices(store, tenant);
  if (const auto rest = After(path, "/api/services/")) {
    // Grafana does not escape the service: everything up to the last segment is its name.
    constexpr std::string_view kOperations = "/operations";
    if (rest->size() <= kOperations.size() ||
        rest->substr(rest->size() - kOperations.size()) != kOperations) {
      return std::nullopt;
    }
    return JaegerOperationNames(store, tenant,
                                std::string(rest->substr(0, rest->size() - kOperations.size())));
  }
  if (path == "/api/operations") return JaegerOperations(store, tenant, params);
  if (path == "/api/traces") return JaegerTraces(store, tenant, params, now);
  if (const auto id = After(path, "/api/traces/")) {
    return JaegerTrace(store, tenant, *id, params);
  }
  if (path == "/api/dependencies") return JaegerDependencies(store, tenant, params, now);
  if (After(path, "/api/metrics/")) return Failed(501, "metrics querying is currently disabled");
  return std::nullopt;
}

}  // namespace wf::answer
