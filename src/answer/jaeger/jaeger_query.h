// Jaeger's query API over our store, so that Grafana's Jaeger data source and Jaeger's own UI can
// read us:
//
//   GET /api/services                              GET /api/v3/services
//   GET /api/services/SERVICE/operations           GET /api/v3/operations?service=&span_kind=
//   GET /api/operations?service=&spanKind=         GET
//   /api/v3/traces?query.service_name=&query.start_time_min=&… GET
//   /api/traces?service=&operation=&tags=&…    GET /api/v3/traces/ID GET
//   /api/traces?traceID=ID&traceID=ID GET /api/traces/ID GET
//   /api/dependencies?endTs=&lookback=&service= GET /api/metrics/… always 501: Jaeger's "no metrics
//   storage"
//
// Errors have Jaeger's form and status, not ours. Thread safety: all functions, from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "answer/jaeger/jaeger_params.h"
#include "base/nanos.h"
#include "store/store.h"

namespace wf::answer {

struct JaegerAnswer {
  int status = 200;
  std::string body;  // application/json
};

// Answers one request, or nothing when the method and path are not Jaeger's. `path` is percent-decoded; a service's
// name may hold a slash. `now` is the end of a search that names none.
std::optional<JaegerAnswer> AnswerJaegerQuery(store::Store& store, const std::string& tenant,
                                              std::string_view method, std::string_view path,
                                              const QueryParams& params, Nanos now = Now());

// The same, one question each.
JaegerAnswer JaegerServices(store::EventStore& store, const std::string& tenant);
JaegerAnswer JaegerOperationNames(store::EventStore& store, const std::string& tenant,
                                  const std::string& service);
JaegerAnswer JaegerOperations(store::EventStore& store, const std::string& tenant,
                              const QueryParams& params);
JaegerAnswer JaegerTrace(store::EventStore& store, const std::string& tenant, std::string_view id,
                         const QueryParams& params);
JaegerAnswer JaegerTraces(store::EventStore& store, const std::string& tenant,
                          const QueryParams& params, Nanos now);
JaegerAnswer JaegerDependencies(store::Store& store, const std::string& tenant,
                                const QueryParams& params, Nanos now);

// The HTTP status of an error.
int JaegerStatus(ErrorCode code);

}  // namespace wf::answer
