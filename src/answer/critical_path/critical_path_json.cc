#include <algorithm>

#include "answer/critical_path/critical_path_answer.h"
#include "answer/trace/traces_answer.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

void WriteWhatIf(const std::optional<critical_path::WhatIfAnswer>& answer, JsonWriter& json) {
  if (!answer) return;
  json.Key("what_if")
      .BeginObject()
      .Field("matched", answer->matched)
      .Field("duration_ns", answer->duration_ns)
      .EndObject();
}

// Nearest rank of sorted times.
Nanos Percentile(const std::vector<Nanos>& sorted, size_t percent) {
  const size_t rank = (percent * sorted.size() + 99) / 100;
  return sorted[rank == 0 ? 0 : rank - 1];
}

}  // namespace

std::string CriticalPathJson(const Trace& trace, const critical_path::CriticalPath& path,
                             const std::optional<critical_path::WhatIfAnswer>& what_if) {
  JsonWriter json;
  const auto id = [&](uint32_t b) { return ToHex64(trace.blocks[b].id); };
  json.BeginObject().Field("trace_id", ToHex(trace.id));
  json.Field("root_span_id", id(trace.main_root())).Key("other_roots").BeginArray();
  for (size_t i = 1; i < trace.roots.size(); ++i) json.String(id(trace.roots[i]));
  json.EndArray().Field("start_ns", path.start_ns).Field("end_ns", path.end_ns);
  json.Field("clock", trace.clock == ClockMode::kAligned ? "aligned" : "raw");
  json.Field("clock_error_ns", trace.clock_error_ns).Field("complete", trace.complete);
  json.Key("segments").BeginArray();
  for (const ShownSegment& segment : ShownSegments(path)) {
    const Block& block = trace.blocks[segment.block];
    json.BeginObject().Field("span_id", id(segment.block)).Field("service", trace.service(block));
    json.Field("name", trace.str(block.name));
    json.Field("category", critical_path::PathCategoryName(segment.category));
    json.Field("start_ns", segment.start_ns).Field("end_ns", segment.end_ns);
    if (!segment.alternatives.empty()) {
      json.Key("alternatives").BeginArray();
      for (const uint32_t other : segment.alternatives) json.String(id(other));
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray();
  WriteWhatIf(what_if, json);
  json.EndObject();
  return json.Take();
}

std::string PathPopulation::Json(const std::optional<store::SearchCursor>& next) const {
  JsonWriter json;
  json.BeginObject().Field("traces", static_cast<int64_t>(requests_.size()));
  json.Field("duration_ns", duration_).Field("skipped", skipped_);
  json.Key("components").BeginArray();
  for (const Component& component : Ranked()) {
    const auto& [service, name, category] = component.key;
    std::vector<Nanos> times = component.part->times;
    std::sort(times.begin(), times.end());
    json.BeginObject().Field("service", service).Field("name", name);
    json.Field("category", critical_path::PathCategoryName(category));
    json.Field("traces", static_cast<int64_t>(times.size()));
    json.Field("total_ns", component.part->total).Key("share").Double(Share(component.part->total));
    json.Field("p50_ns", Percentile(times, 50)).Field("p95_ns", Percentile(times, 95));
    json.Field("max_ns", times.back());
    json.Field("max_trace_id", ToHex(component.part->longest_in)).EndObject();
  }
  json.EndArray().Key("requests").BeginArray();
  for (const Request& request : requests_) {
    json.BeginObject().Field("trace_id", ToHex(request.id));
    json.Field("service", request.service).Field("name", request.name);
    json.Field("start_ns", request.start_ns).Field("duration_ns", request.duration_ns);
    json.Field("complete", request.complete);
    WriteWhatIf(request.what_if, json);
    json.EndObject();
  }
  json.EndArray().Key("next");
  if (next)
    json.String(FormatCursor(*next));
  else
    json.Null();
  WriteWhatIf(Total(), json);
  json.EndObject();
  return json.Take();
}

}  // namespace wf::answer
