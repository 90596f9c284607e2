#include "answer/explain/explain_json.h"

#include "json/json_writer.h"

namespace wf::answer {
namespace {

void WriteIntervals(const char* key, const std::vector<provenance::Interval>& intervals,
                    JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const auto& [begin, end] : intervals) json.BeginArray().Int(begin).Int(end).EndArray();
  json.EndArray();
}

// Two vertices of one answer never have the same id.
std::string VertexId(const provenance::Execution& x, const provenance::ExplanationVertex& vertex) {
  return std::string(x.str(x.id[vertex.members[0]])) + (vertex.twin ? "~" : "");
}

void WriteVertex(const provenance::Execution& x, const provenance::Explanation& explanation,
                 size_t v, const ExplanationJsonExtras& extras, JsonWriter& json) {
  const provenance::ExplanationVertex& vertex = explanation.vertices[v];
  const uint32_t first = vertex.members[0];
  const bool merged = vertex.members.size() > 1;
  json.BeginObject().Field("id", VertexId(x, vertex));
  json.Field("type", ProvenanceTypeName(x.type[first])).Field("node", x.str(x.node[first]));
  json.Field("tuple", x.str(merged ? x.name[first] : x.tuple[first]));
  json.Field("start_ns", vertex.start_ns).Field("end_ns", vertex.end_ns);
  json.Field("delay_ns", vertex.delay_ns).Field("self_ns", vertex.self_ns);
  json.Field("functional", vertex.functional);
  json.Field("count", static_cast<int64_t>(vertex.members.size()));
  if (x.origin[first] != 0) json.Field("origin", x.str(x.origin[first]));
  if (vertex.expired) json.Field("expired", true);
  if (merged) {
    json.Key("members").BeginArray();
    for (const uint32_t e : vertex.members) json.String(x.str(x.id[e]));
    json.EndArray();
  } else {
    WriteIntervals("intervals_ns", vertex.intervals, json);
    WriteIntervals("self_intervals_ns", vertex.self_intervals, json);
  }
  if (extras.vertex) extras.vertex(v, json);
  json.EndObject();
}

}  // namespace

std::string ExplanationJson(const provenance::Execution& x,
                            const provenance::Explanation& explanation,
                            provenance::ExplanationView view, const ExplanationJsonExtras& extras) {
  JsonWriter json;
  json.BeginObject().Field("delay_ns", explanation.delay_ns);
  json.Field("from", x.str(x.id[explanation.from])).Field("root", x.str(x.id[explanation.root]));
  json.Key("vertices").BeginArray();
  for (size_t v = 0; v < explanation.vertices.size(); ++v)
    WriteVertex(x, explanation, v, extras, json);
  json.EndArray().Key("edges").BeginArray();
  const auto id = [&](uint32_t vertex) { return VertexId(x, explanation.vertices[vertex]); };
  for (const provenance::ExplanationEdge& edge : explanation.edges) {
    json.BeginObject().Field("from", id(edge.from)).Field("to", id(edge.to));
    json.Field("kind",
               edge.kind == provenance::ExplanationEdgeKind::kCausal ? "causal" : "sequencing");
    if (view != provenance::ExplanationView::kRaw) json.Field("delay_ns", edge.delay_ns);
    json.EndObject();
  }
  json.EndArray();
  if (extras.sizes == ExplanationJsonExtras::Sizes::kShown) {
    const provenance::ExplanationSizes& sizes = explanation.sizes;
    json.Key("sizes").BeginObject();
    json.Field("raw", sizes.raw).Field("nonzero", sizes.nonzero);
    json.Field("pruned", sizes.pruned).Field("aggregated", sizes.aggregated).EndObject();
  }
  if (explanation.what_if) {
    json.Key("what_if").BeginObject().Field("matched", explanation.what_if->matched);
    json.Field("delay_ns", explanation.what_if->delay_ns).EndObject();
  }
  if (extras.answer) extras.answer(json);
  json.EndObject();
  return json.Take();
}

}  // namespace wf::answer
