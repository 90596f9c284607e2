#include "answer/jaeger/jaeger_params.h"

#include <fmt/format.h>

#include <charconv>
#include <initializer_list>

#include "json/flat_object.h"

namespace wf::answer {
namespace {

constexpr Nanos kDefaultLookback = 2 * kDay;        // Jaeger's, for searches without a start
constexpr Nanos kDefaultDependencyLookback = kDay;  // Jaeger's, for /api/dependencies

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", text.substr(0, 64)); }

Result<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return BadInput(Quoted(text) + " is not a 64-bit integer");
  }
  return value;
}

Nanos Scaled(int64_t count, Nanos unit) {
  Nanos out;
  if (!__builtin_mul_overflow(count, unit, &out)) return out;
  return count < 0 ? INT64_MIN : INT64_MAX;
}

// An integer count of units since the epoch.
Result<std::optional<Nanos>> TimeParam(const QueryParams& params, std::string_view name,
                                       Nanos unit) {
  const std::string* text = FindParam(params, name);
  if (text == nullptr) return std::optional<Nanos>();
  auto count = ParseInteger(*text);
  if (!count.ok()) return BadJaegerParam(name, count.error());
  return std::optional<Nanos>(Scaled(*count, unit));
}

// One of several spellings; the first that is there wins.
const std::string* FindAny(const QueryParams& params, std::initializer_list<std::string_view> names,
                           std::string_view& found) {
  for (std::string_view name : names) {
    found = name;
    if (const std::string* text = FindParam(params, name)) return text;
  }
  return nullptr;
}

Result<std::optional<Nanos>> DurationParam(const QueryParams& params,
                                           std::initializer_list<std::string_view> names) {
  std::string_view name;
  const std::string* text = FindAny(params, names, name);
  if (text == nullptr) return std::optional<Nanos>();
  auto duration = ParseGoDuration(*text);
  if (!duration.ok()) return BadJaegerParam(name, duration.error());
  // Zero is Jaeger's "not given".
  return *duration == 0 ? std::optional<Nanos>() : std::optional<Nanos>(*duration);
}

Result<std::optional<Nanos>> Rfc3339Param(const QueryParams& params,
                                          std::initializer_list<std::string_view> names) {
  std::string_view name;
  const std::string* text = FindAny(params, names, name);
  if (text == nullptr) return std::optional<Nanos>();
  // Grafana does not escape these, so the plus of "+01:00" arrives as a blank.
  std::string repaired = *text;
  for (char& c : repaired) {
    if (c == ' ') c = '+';
  }
  if (repaired.find('T') == std::string::npos) {
    return BadJaegerParam(name, BadInput(Quoted(repaired) + " is not RFC 3339"));
  }
  auto instant = ParseInstant(repaired, 0);
  if (!instant.ok()) return BadJaegerParam(name, instant.error());
  return std::optional<Nanos>(*instant);
}

// Jaeger shows a span's kind, status and scope as tags, so people search by them; we keep them in
// fields.
void AddTag(const std::string& key, const std::string& value, JaegerSearch& search) {
  if ((key == "error" && value == "true") || (key == "otel.status_code" && value == "ERROR")) {
    search.query.status = SpanStatus::kError;
  } else if (key == "otel.status_code" && value == "OK") {
    search.query.status = SpanStatus::kOk;
  } else if (key == "span.kind" || key == "otel.scope.name" || key == "otel.scope.version" ||
             key == "otel.status_description") {
    search.derived.emplace_back(key, value);
  } else {
    search.query.attributes.emplace_back(key, value);
  }
}

Status AddJsonTags(const std::string& json, std::string_view name, JaegerSearch& search) {
  auto members = ParseFlatObject(json);
  if (!members.ok()) return BadJaegerParam(name, members.error());
  for (const auto& [key, value] : *members) AddTag(key, value, search);
  return {};
}

Status SetLimit(const std::string* text, std::string_view name, JaegerSearch& search) {
  search.query.limit = kJaegerDefaultTraces;
  if (text == nullptr) return {};
  auto limit = ParseInteger(*text);
  if (!limit.ok()) return BadJaegerParam(name, limit.error());
  if (*limit < 0) return BadJaegerParam(name, BadInput("must not be negative"));
  if (*limit > 0) search.query.limit = static_cast<size_t>(*limit);  // 0 is "not given"
  return {};
}

Status SetDurations(std::optional<Nanos> min, std::optional<Nanos> max, JaegerSearch& search) {
  if (min && max && *max < *min)
    return BadInput("'maxDuration' should be greater than 'minDuration'");
  search.query.min_span_duration_ns = min;
  search.query.max_span_duration_ns = max;
  return {};
}

}  // namespace

const std::string* FindParam(const QueryParams& params, std::string_view name) {
  for (const auto& [key, value] : params) {
    if (key == name && !value.empty()) return &value;
  }
  return nullptr;
}

Error BadJaegerParam(std::string_view name, const Error& why) {
  return BadInput("unable to parse param '" + std::string(name) + "': " + why.message, why.hint);
}

Result<Nanos> ParseGoDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    Nanos size;
  };
  // Longer names first. The micro sign has two code points.
  static constexpr Unit kUnits[] = {{"ns", 1},           {"us", kMicro}, {"\u00b5s", kMicro},
                                    {"\u03bcs", kMicro}, {"ms", kMilli}, {"s", kSecond},
                                    {"m", kMinute},      {"h", kHour}};
  const auto bad = [&] {
    return BadInput(Quoted(text) + " is not a duration",
                    "give a number and a unit: 1.2s, 100ms, 500us, 1m30s");
  };
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  if (rest == "0") return Nanos{0};
  if (rest.empty()) return bad();
  double total = 0;
  while (!rest.empty()) {
    if (rest[0] != '.' && (rest[0] < '0' || rest[0] > '9')) return bad();
    double number = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (error != std::errc()) return bad();
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const Unit* unit = nullptr;
    for (const Unit& candidate : kUnits) {
      if (rest.substr(0, candidate.name.size()) == candidate.name) {
        unit = &candidate;
        break;
      }
    }
    if (unit == nullptr) return bad();
    rest.remove_prefix(unit->name.size());
    total += number * static_cast<double>(unit->size);
  }
  if (total >= 9.2e18) return BadInput(Quoted(text) + " is longer than 292 years");
  const auto rounded = static_cast<Nanos>(total + 0.5);
  return negative ? -rounded : rounded;
}

Result<JaegerSearch> ParseJaegerSearch(const QueryParams& params, Nanos now) {
  JaegerSearch search;
  for (const auto& [name, value] : params) {
    if (name == "traceID" && !value.empty()) {
      auto id = ParseTraceId(value);
      if (!id.ok()) return BadInput("cannot parse traceID param: " + id.error().message);
      search.ids.push_back(*id);
    } else if (name == "tag" && !value.empty()) {
      const size_t colon = value.find(':');
      if (colon == std::string::npos) {
        return BadInput("malformed 'tag' parameter, expecting key:value, received: " + value);
      }
      AddTag(value.substr(0, colon), value.substr(colon + 1), search);
    } else if (name == "tags" && !value.empty()) {
      // An object, or, as older clients send it, one key:value.
      const size_t colon = value.find(':');
      if (value[0] != '{' && colon != std::string::npos) {
        AddTag(value.substr(0, colon), value.substr(colon + 1), search);
      } else {
        WF_TRY(AddJsonTags(value, "tags", search));
      }
    }
  }
  if (const std::string* service = FindParam(params, "service")) search.query.service = *service;
  if (const std::string* operation = FindParam(params, "operation"))
    search.query.operation = *operation;
  if (!search.query.service && search.ids.empty())
    return BadInput("parameter 'service' is required");
  WF_TRY(SetLimit(FindParam(params, "limit"), "limit", search));

  WF_ASSIGN(const std::optional<Nanos> start, TimeParam(params, "start", kMicro));
  WF_ASSIGN(const std::optional<Nanos> end, TimeParam(params, "end", kMicro));
  // Jaeger's UI sends lookback beside start and end, for itself ("custom", "1h"); alone it means
  // that far back.
  Nanos lookback = kDefaultLookback;
  if (const std::string* text = FindParam(params, "lookback");
      text != nullptr && *text != "custom") {
    auto parsed = ParseDuration(*text);
    if (!parsed.ok()) return BadJaegerParam("lookback", parsed.error());
    lookback = *parsed;
  }
  const Nanos last = end.value_or(now);
  search.query.time.from = start.value_or(SaturatingSub(last, lookback));
  search.query.time.until = SaturatingAdd(last, kMicro);  // Jaeger's end belongs to the range

  WF_ASSIGN(const std::optional<Nanos> min, DurationParam(params, {"minDuration"}));
  WF_ASSIGN(const std::optional<Nanos> max, DurationParam(params, {"maxDuration"}));
  WF_TRY(SetDurations(min, max, search));
  return search;
}

Result<JaegerSearch> ParseJaegerV3Search(const QueryParams& params) {
  JaegerSearch search;
  std::string_view name;
  if (const auto* text = FindAny(params, {"query.serviceName", "query.service_name"}, name)) {
    search.query.service = *text;
  }
  if (const auto* text = FindAny(params, {"query.operationName", "query.operation_name"}, name)) {
    search.query.operation = *text;
  }
  if (const auto* text = FindParam(params, "query.attributes")) {
    WF_TRY(AddJsonTags(*text, "query.attributes", search));
  }
  const auto* depth = FindAny(
      params, {"query.searchDepth", "query.search_depth", "query.num_traces", "query.numTraces"},
      name);
  WF_TRY(SetLimit(depth, name, search));
  WF_ASSIGN(const std::optional<Nanos> from,
            Rfc3339Param(params, {"query.startTimeMin", "query.start_time_min"}));
  WF_ASSIGN(const std::optional<Nanos> until,
            Rfc3339Param(params, {"query.startTimeMax", "query.start_time_max"}));
  if (!from || !until)
    return BadInput("query.start_time_min and query.start_time_max are required");
  search.query.time = {*from, SaturatingAdd(*until, 1)};
  WF_ASSIGN(const std::optional<Nanos> min,
            DurationParam(params, {"query.durationMin", "query.duration_min"}));
  WF_ASSIGN(const std::optional<Nanos> max,
            DurationParam(params, {"query.durationMax", "query.duration_max"}));
  WF_TRY(SetDurations(min, max, search));
  return search;
}

Result<store::TimeRange> ParseJaegerDependencies(const QueryParams& params, Nanos now) {
  WF_ASSIGN(const std::optional<Nanos> end, TimeParam(params, "endTs", kMilli));
  Nanos lookback = kDefaultDependencyLookback;
  if (const std::string* text = FindParam(params, "lookback")) {
    auto count = ParseInteger(*text);
    if (!count.ok()) return BadJaegerParam("lookback", count.error());
    if (*count < 0) return BadJaegerParam("lookback", BadInput("must not be negative"));
    lookback = Scaled(*count, kMilli);
  }
  const Nanos last = end.value_or(now);
  return store::TimeRange{SaturatingSub(last, lookback), SaturatingAdd(last, kMilli)};
}

Status CheckJaegerTimeHints(const QueryParams& params) {
  WF_TRY(TimeParam(params, "start", kMicro));
  WF_TRY(TimeParam(params, "end", kMicro));
  return {};
}

Status CheckJaegerV3TimeHints(const QueryParams& params) {
  WF_TRY(Rfc3339Param(params, {"startTime", "start_time"}));
  WF_TRY(Rfc3339Param(params, {"endTime", "end_time"}));
  return {};
}

}  // namespace wf::answer
