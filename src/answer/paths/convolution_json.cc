#include "answer/paths/convolution_json.h"

#include "json/json_writer.h"

namespace wf::answer {

std::string ConvolutionJson(const paths::ConvolutionResult& result, const StringTable& nodes,
                            std::string_view why) {
  JsonWriter json;
  json.BeginObject().Field("algorithm", "convolution").Field("why", why);
  json.Field("quantum_ns", result.quantum_ns).Key("vertices").BeginArray();
  for (size_t v = 0; v < result.vertices.size(); ++v) {
    json.BeginObject().Field("id", static_cast<int64_t>(v));
    json.Field("node", nodes.At(result.vertices[v])).EndObject();
  }
  json.EndArray().Key("edges").BeginArray();
  for (const paths::ConvolutionEdge& edge : result.edges) {
    json.BeginObject().Field("from", static_cast<int64_t>(edge.from));
    json.Field("to", static_cast<int64_t>(edge.to)).Field("count", edge.count);
    json.Key("delays_ns").BeginArray();
    for (const paths::ConvolutionDelay& delay : edge.delays) {
      json.BeginObject().Field("delay", delay.delay_ns).Field("count", delay.count).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().Field("quantum_why", result.quantum_why);
  json.Field("max_delay_ns", result.max_delay_ns).Field("messages", result.messages);
  json.Field("duplicates", result.duplicates).Field("retransmissions", result.retransmissions);
  const paths::ConvolutionSuppressed& not_shown = result.suppressed;
  json.Key("suppressed").BeginObject().Field("noise", not_shown.noise);
  json.Field("negative", not_shown.negative).Field("cycles", not_shown.cycles);
  json.Field("derived", not_shown.derived).Field("unsupported", not_shown.unsupported);
  json.Field("ghosts", not_shown.ghosts).Field("short", not_shown.short_paths);
  json.Field("deep", not_shown.deep).EndObject().EndObject();
  return json.Take() + "\n";
}

}  // namespace wf::answer
