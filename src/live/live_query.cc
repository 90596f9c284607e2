#include "live/live_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "json/json_reader.h"

namespace wf::live {
namespace {

constexpr std::string_view kKeys[] = {"query",       "name",       "standing",  "total",  "count",
                                      "interval_ms", "max_tuples", "max_bytes", "dataset"};
constexpr size_t kLongestName = 100;

Error Bad(const std::string& why) {
  return BadInput("query: " + why,
                  "keys: query, name, standing, total, count, interval_ms, max_tuples, max_bytes, "
                  "dataset");
}

Status ReadBool(JsonValue object, const char* key, bool& out) {
  const JsonValue value = object.Get(key);
  if (value.missing()) return {};
  if (!value.IsBool()) return Bad(std::string(key) + " is neither true nor false");
  out = value.Bool();
  return {};
}

Status ReadText(JsonValue object, const char* key, std::string& out) {
  const JsonValue value = object.Get(key);
  if (value.missing()) return {};
  if (!value.IsString()) return Bad(std::string(key) + " is not a text");
  out = value.String();
  return {};
}

struct Range {
  int64_t least, most;
};

template <typename Number>
Status ReadNumber(JsonValue object, const char* key, Range range, Number& out) {
  const JsonValue value = object.Get(key);
  if (value.missing()) return {};
  const auto number = value.Int();
  if (!number || *number < range.least || *number > range.most)
    return Bad(fmt::format("{} is not an integer from {} to {}", key, range.least, range.most));
  out = static_cast<Number>(*number);
  return {};
}

}  // namespace

Result<LiveQuerySpec> ReadLiveQuerySpec(std::string_view text) {
  JsonParser parser;
  const auto json = parser.Parse(text);
  if (!json.ok()) return Bad(json.error().message);
  if (!json->IsObject()) return Bad("the request is not a JSON object");
  for (const auto& [key, value] : json->Members()) {
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      return Bad(fmt::format("unknown key \"{}\"", key));
  }
  LiveQuerySpec spec;
  WF_TRY(ReadText(*json, "query", spec.text));
  if (spec.text.empty()) return Bad("no query given");
  WF_TRY(ReadText(*json, "name", spec.name));
  if (spec.name.size() > kLongestName)
    return Bad(fmt::format("name is longer than {} bytes", kLongestName));
  WF_TRY(ReadBool(*json, "standing", spec.standing));
  WF_TRY(ReadBool(*json, "total", spec.total));
  WF_TRY(ReadBool(*json, "count", spec.count));
  if (spec.total && spec.standing)
    return Bad("a standing query has no total because it does not end");
  int64_t milliseconds = spec.interval / kMilli;
  WF_TRY(ReadNumber(*json, "interval_ms", {kShortestInterval / kMilli, kLongestInterval / kMilli},
                    milliseconds));
  spec.interval = milliseconds * kMilli;
  WF_TRY(ReadNumber(*json, "max_tuples", {1, 1'000'000}, spec.max_tuples));
  WF_TRY(ReadNumber(*json, "max_bytes", {1, 1'000'000}, spec.max_bytes));
  WF_TRY(ReadText(*json, "dataset", spec.dataset));
  return spec;
}

void WriteLiveQuerySpec(const LiveQuerySpec& spec, JsonWriter& json) {
  json.Field("query", spec.text).Field("name", spec.name).Field("standing", spec.standing);
  if (spec.total) json.Field("total", true);
  if (spec.count) json.Field("count", true);
  json.Field("interval_ms", spec.interval / kMilli)
      .Field("max_tuples", uint64_t{spec.max_tuples})
      .Field("max_bytes", uint64_t{spec.max_bytes});
  if (!spec.dataset.empty()) json.Field("dataset", spec.dataset);
}

const char* ToString(LivePlan plan) { return plan == LivePlan::kEmit ? "emit" : "rewritten"; }

void WriteLiveQueryCost(const LiveQueryCost& cost, JsonWriter& json) {
  json.BeginObject()
      .Field("hits", cost.hits)
      .Field("tuples", cost.tuples)
      .Field("bytes", cost.bytes)
      .Field("advice_ns", cost.advice_ns)
      .Field("packed_tuples_max", cost.packed_tuples_max)
      .Field("baggage_bytes_max", cost.baggage_bytes_max)
      .Field("lost", cost.lost)
      .Field("overflowed", cost.overflowed)
      .Field("reports", cost.reports)
      .EndObject();
}

std::vector<std::string> TracepointsOf(const advice::Program& program) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const advice::Advice& advice : program.advice) {
    for (const std::string& name : advice.tracepoints)
      if (seen.insert(name).second) names.push_back(name);
  }
  return names;
}

}  // namespace wf::live
