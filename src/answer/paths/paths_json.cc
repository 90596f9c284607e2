#include "answer/paths/paths_json.h"

#include "json/json_writer.h"

namespace wf::answer {
namespace {

constexpr size_t kMaxRows = 100;  // of the lists beside the patterns

class PatternsWriter {
 public:
  PatternsWriter(const PathsAnswer& answer, JsonWriter& json) : answer_(answer), json_(json) {}

  void WritePattern(const paths::Pattern& pattern) {
    json_.BeginObject();
    Summary(pattern);
    const uint32_t slowest = SlowestNode(pattern);
    json_.Field("shape", PatternIdText(ShapeOf(pattern)));
    json_.Key("adds_most").BeginObject();
    json_.Field("node", NameOf(pattern.nodes[slowest].node));
    json_.Field("own_ns", paths::MeanOf(paths::OwnTime(pattern, slowest), pattern.count))
        .EndObject();
    if (Distributions()) {
      json_.Field("first_ns", pattern.first_ns).Field("last_ns", pattern.last_ns);
      json_.Key("timeline").BeginArray();
      for (const uint32_t count : pattern.timeline.counts) json_.Int(count);
      json_.EndArray();
    }
    json_.Field("client", NameOf(pattern.client));
    json_.Key("root");
    WriteTree(pattern);
    json_.EndObject();
  }

  // All paths by when they began, which the patterns' timelines are parts of.
  void WriteTimeline() {
    if (!Distributions()) return;
    const paths::PatternTable& table = *answer_.table;
    json_.Key("timeline").BeginObject().Field("start_ns", table.timeline_start());
    json_.Field("span_ns", table.timeline_span()).Key("spans").BeginArray();
    for (const paths::PatternTable::TimeSpan& span : table.timeline()) {
      json_.BeginObject().Field("count", span.count);
      json_.Field("latency_ns", span.count == 0 ? 0 : paths::MeanOf(span.latency, span.count))
          .EndObject();
    }
    json_.EndArray().EndObject();
  }

  void WriteRareSlow() {
    json_.Key("rare_slow").BeginArray();
    size_t rows = 0;
    for (const paths::RareSlowPattern& one : paths::FindRareSlow(*answer_.table)) {
      if (++rows > kMaxRows) break;
      json_.BeginObject();
      Summary(*one.pattern);
      json_.Field("usual_ns", one.usual_ns).Field("among", one.among);
      json_.Field("client", NameOf(one.pattern->client));
      json_.Key("root");
      WriteTree(*one.pattern);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WritePhases() {
    json_.Key("phases").BeginArray();
    const paths::PatternPhases phases(*answer_.table);
    size_t rows = 0;
    for (const paths::Pattern* pattern :
         paths::InOrder(*answer_.table, paths::PatternOrder::kCount)) {
      const auto phase = phases.Of(*pattern);
      if (!phase || ++rows > kMaxRows) continue;
      json_.BeginObject().Field("id", PatternIdText(pattern->id));
      json_.Field("client", NameOf(pattern->client));
      json_.Field("node", NameOf(pattern->root().node));
      json_.Field("from_ns", phase->from_ns).Field("until_ns", phase->until_ns);
      json_.Field("count", phase->count).Field("among", phase->among).EndObject();
    }
    json_.EndArray();
  }

  void WriteGraph() {
    const paths::MergedGraph graph = MergePatterns(*answer_.table);
    json_.Key("graph").BeginObject().Key("nodes").BeginArray();
    for (const paths::MergedNode& node : graph.nodes) {
      json_.BeginObject().Field("node", NameOf(node.node)).Field("visits", node.visits);
      json_.Field("latency_ns", paths::MeanOf(node.latency, node.visits));
      json_.Field("own_ns", paths::MeanOf(node.own, node.visits)).EndObject();
    }
    json_.EndArray().Key("edges").BeginArray();
    for (const paths::MergedEdge& edge : graph.edges) {
      json_.BeginObject().Field("from", NameOf(edge.from)).Field("to", NameOf(edge.to));
      json_.Field("starts_path", edge.starts_path).Field("calls", edge.calls);
      json_.Key("probability").Double(edge.probability);
      json_.Field("call_delay_ns", paths::MeanOf(edge.call_delay, edge.calls)).EndObject();
    }
    json_.EndArray().EndObject();
  }

 private:
  bool Distributions() const { return answer_.distributions == paths::KeepDistributions::kYes; }

  void Bins(const char* key, const paths::DelayHistogram& histogram) {
    json_.Key(key).BeginArray();
    for (const paths::DelayHistogram::Bin& bin : histogram.Bins()) {
      json_.BeginArray().Int(bin.from_ns).Int(bin.until_ns).Int(bin.count).EndArray();
    }
    json_.EndArray();
  }

  std::string_view NameOf(NodeId node) const { return answer_.names->At(node); }

  void Summary(const paths::Pattern& pattern) {
    json_.Field("id", PatternIdText(pattern.id)).Field("count", pattern.count);
    json_.Field("total_latency_ns", paths::HeldToNanos(pattern.total_latency));
    json_.Key("latency_ns").BeginObject().Field("mean", pattern.MeanLatency());
    json_.Field("p50", pattern.latency.Quantile(0.5));
    json_.Field("p99", pattern.latency.Quantile(0.99)).EndObject();
  }

  void OpenNode(const paths::Pattern& pattern, uint32_t n) {
    const paths::PatternNode& node = pattern.nodes[n];
    json_.BeginObject().Field("node", NameOf(node.node));
    json_.Field("latency_ns", paths::MeanOf(node.latency, pattern.count));
    json_.Field("call_delay_ns", paths::MeanOf(node.call_delay, pattern.count));
    json_.Key("steps_ns").BeginArray();
    for (uint32_t s = 0; s <= node.children; ++s)
      json_.Int(paths::MeanOf(pattern.steps[node.first_step + s], pattern.count));
    json_.EndArray();
    if (node.link > 0) json_.Field("link_ns", paths::MeanOf(node.link, pattern.count));
    if (IsAfterReply(pattern, n)) json_.Field("after_reply", true);
    if (Distributions()) {
      const paths::NodeDistribution& spread = pattern.distributions[n];
      json_.Key("histogram").BeginObject();
      Bins("latency_ns", spread.latency);
      Bins("call_delay_ns", spread.call_delay);
      Bins("own_ns", spread.own);
      json_.EndObject();
    }
    json_.Key("children").BeginArray();
  }

  // Without recursion: a path may be as deep as its trace is long.
  void WriteTree(const paths::Pattern& pattern) {
    struct Level {
      std::vector<uint32_t> nodes;
      size_t next = 0;
    };
    std::vector<Level> levels = {{{0}}};
    while (!levels.empty()) {
      Level& level = levels.back();
      if (level.next == level.nodes.size()) {
        levels.pop_back();
        if (!levels.empty()) json_.EndArray().EndObject();
        continue;
      }
      const uint32_t node = level.nodes[level.next++];
      OpenNode(pattern, node);
      levels.push_back({ChildrenInOrder(pattern, node, *answer_.names)});
    }
  }

  const PathsAnswer& answer_;
  JsonWriter& json_;
};

}  // namespace

void WriteAccuracy(const paths::PathAccuracy& a, JsonWriter& json) {
  const auto fraction = [&](const char* key, const char* part, const paths::Fraction& value) {
    json.Key(key).BeginObject().Field(part, value.part).Field("of", value.of);
    json.Key("share").Double(value.Share()).EndObject();
  };
  json.Key("accuracy").BeginObject();
  fraction("edges", "right", a.edges);
  fraction("traces", "right", a.traces);
  json.Key("patterns")
      .BeginObject()
      .Field("true", a.true_patterns)
      .Field("found", a.found_patterns);
  json.Field("false_positive", a.pattern_fp).Field("false_negative", a.pattern_fn).EndObject();
  json.Key("instances").BeginObject().Field("true", a.true_instances);
  json.Field("found", a.found_instances).Field("false_positive", a.instance_fp);
  json.Field("false_negative", a.instance_fn);
  json.Key("false_positive_rate").Double(paths::Fraction{a.instance_fp, a.found_instances}.Share());
  json.Key("false_negative_rate").Double(paths::Fraction{a.instance_fn, a.true_instances}.Share());
  json.EndObject();
  fraction("messages", "wrong", a.messages);
  json.Key("top").BeginArray();
  for (const paths::TopAccuracy& top : a.top) {
    json.BeginObject().Field("n", uint64_t{top.n}).Key("false_negative_rate").Double(top.missing);
    json.Key("within_2_percent").Double(top.within_2);
    json.Key("within_6_percent").Double(top.within_6).EndObject();
  }
  json.EndArray();
  json.Field("unknown_rows", a.unknown_rows).EndObject();
}

std::string PathsJson(const PathsAnswer& answer) {
  JsonWriter json;
  json.BeginObject().Field("algorithm", answer.algorithm).Field("why", answer.why);
  json.Field("messages", answer.pairing.messages).Field("calls", answer.pairing.calls);
  json.Key("parallelism").Double(answer.parallelism);
  json.Key("unassigned").BeginObject().Field("calls", answer.pairing.unpaired_calls);
  json.Field("returns", answer.pairing.unpaired_returns);
  json.Field("msgs", answer.pairing.msgs).EndObject();
  json.Field("duplicates", answer.duplicates);
  json.Field("retransmissions", answer.pairing.retransmissions);
  json.Key("skew_ns").BeginObject();
  for (const auto& [node, skew] : answer.skew_ns) json.Field(node, skew);
  json.EndObject().Key("patterns").BeginArray();
  const ShownPatterns shown = Shown(answer);
  PatternsWriter writer(answer, json);
  for (const paths::Pattern* pattern : shown.patterns) writer.WritePattern(*pattern);
  json.EndArray().Key("omitted").BeginObject().Field("patterns", shown.omitted_patterns);
  json.Field("count", shown.omitted_count).EndObject();
  writer.WriteTimeline();
  writer.WriteRareSlow();
  writer.WritePhases();
  writer.WriteGraph();
  if (answer.accuracy) WriteAccuracy(*answer.accuracy, json);
  json.Key("notes").BeginArray();
  for (const std::string& note : answer.notes) json.String(note);
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

}  // namespace wf::answer
