// Parameters of Jaeger's query API: names, units and meanings are Jaeger's, not ours.
//
// Times of /api/… are integers in µs (dependencies: ms), those of /api/v3 RFC 3339; durations have
// Go's syntax
// ("1m30s", "1.5ms", "300µs").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "base/result.h"
#include "store/store.h"

namespace wf::answer {

// Decoded names and values in the order they stand in the query string; names may repeat.
using QueryParams = std::vector<std::pair<std::string, std::string>>;

// What the span searched for must carry besides the columns a Store can search: tags that Jaeger
// derives from other fields of a span (span.kind and the like).
using DerivedTags = std::vector<std::pair<std::string, std::string>>;

struct JaegerSearch {
  store::TraceQuery query;   // without cursor; limit as asked for
  DerivedTags derived;       // checked by us on the rows of what the store found
  std::vector<TraceId> ids;  // not empty: these traces, whatever the query says
};

// Jaeger answers at most this many traces in its own UI; more is held here and the answer says so.
constexpr size_t kJaegerMaxTraces = 1500;
constexpr size_t kJaegerDefaultTraces = 100;

// The first value of a name that is not empty, or nullptr.
const std::string* FindParam(const QueryParams& params, std::string_view name);

Result<Nanos> ParseGoDuration(std::string_view text);
// What `error: %s` of a malformed parameter says, in Jaeger's words.
Error BadJaegerParam(std::string_view name, const Error& why);

Result<JaegerSearch> ParseJaegerSearch(const QueryParams& params, Nanos now);  // /api/traces
Result<JaegerSearch> ParseJaegerV3Search(const QueryParams& params);           // /api/v3/traces
// /api/dependencies.
Result<store::TimeRange> ParseJaegerDependencies(const QueryParams& params, Nanos now);

// The time hints of a lookup by id are checked, then not used: an id finds its trace without them,
// and Grafana sends them in ms where Jaeger reads µs.
Status CheckJaegerTimeHints(const QueryParams& params);
Status CheckJaegerV3TimeHints(const QueryParams& params);

}  // namespace wf::answer
