// Explain, step by step: which events are functional, which could have contributed (raw graph), which one
// explains each instant, which are worth showing (pruning), which are similar (aggregation), and the
// requested view.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/provenance/aggregation.h"
#include "analysis/provenance/blame.h"
#include "analysis/provenance/explanation.h"
#include "analysis/provenance/raw_graph.h"
#include "analysis/provenance/replay.h"

namespace wf::provenance {
namespace {

// Everything known before a view is made of it.
struct Findings {
  std::vector<uint8_t> functional, pruned;
  RawGraph raw;
  Blame blame;
  std::vector<uint32_t> merged;  // by event of the pruned graph: the first of its vertex
};

std::vector<uint8_t> Pruned(const Execution& x, const Findings& found) {
  std::vector<uint8_t> in = found.functional;
  for (size_t e = 0; e < in.size(); ++e) in[e] |= found.blame.delay_ns[e] > 0 ? 1 : 0;
  CloseUnderCauses(x, in);
  return in;
}

std::vector<uint32_t> Merged(const Execution& x, const Findings& found) {
  std::vector<uint8_t> waited_for(found.pruned.size(), 0);
  for (const BlameStep& step : found.blame.steps) {
    if (step.kind == ExplanationEdgeKind::kSequencing) waited_for[step.by] = 1;
  }
  return MergeAlike(x, {found.pruned, found.functional, waited_for});
}

class ViewBuilder {
 public:
  ViewBuilder(const Execution& x, const Findings& found, ExplanationView view)
      : x_(x), found_(found), view_(view), vertex_of_(found.functional.size(), kNoEvent) {}

  void Build(Explanation& out) {
    AddVertices(out.vertices);
    if (view_ == ExplanationView::kRaw)
      AddRawEdges(out.edges);
    else
      AddEdges(out.edges);
  }

 private:
  void AddVertices(std::vector<ExplanationVertex>& vertices) {
    const std::vector<uint8_t>& in = view_ == ExplanationView::kRaw ? found_.raw.in : found_.pruned;
    const auto n = static_cast<uint32_t>(in.size());
    for (uint32_t e = 0; e < n; ++e) {
      if (in[e] == 0) continue;
      const uint32_t first = view_ == ExplanationView::kMerged ? found_.merged[e] : e;
      if (first == e) {
        vertex_of_[e] = static_cast<uint32_t>(vertices.size());
        vertices.emplace_back();
      } else {
        vertex_of_[e] = vertex_of_[first];
      }
      vertices[vertex_of_[e]].members.push_back(e);
    }
    for (ExplanationVertex& vertex : vertices) Fill(vertex);
    if (view_ == ExplanationView::kMerged) SortByTime(vertices);
  }

  // A merged vertex begins with its first member but may end with a later one, after others that began with
  // it.
  void SortByTime(std::vector<ExplanationVertex>& vertices) {
    if (std::is_sorted(vertices.begin(), vertices.end(), ComesBefore)) return;
    std::sort(vertices.begin(), vertices.end(), ComesBefore);
    for (uint32_t v = 0; v < vertices.size(); ++v) {
      for (const uint32_t e : vertices[v].members) vertex_of_[e] = v;
    }
  }

  void Fill(ExplanationVertex& vertex) const {
    const uint32_t first = vertex.members[0];
    vertex.start_ns = x_.start_ns[first];
    vertex.end_ns = x_.end_ns[first];
    vertex.functional = found_.functional[first] != 0;
    for (const uint32_t e : vertex.members) {
      vertex.end_ns = std::max(vertex.end_ns, x_.end_ns[e]);
      vertex.expired = vertex.expired || x_.lost_cause[e] ||
                       (!x_.lost_predecessor.empty() && x_.lost_predecessor[e]);
      Gather(found_.blame.passed, e, vertex.intervals);
      Gather(found_.blame.ended, e, vertex.self_intervals);
    }
    vertex.delay_ns = JoinIntervals(vertex.intervals);
    vertex.self_ns = JoinIntervals(vertex.self_intervals);
    if (vertex.members.size() > 1) vertex.intervals = vertex.self_intervals = {};
  }

  static void Gather(const EventIntervals& from, uint32_t e, std::vector<Interval>& to) {
    to.insert(to.end(), from.intervals.begin() + from.begin[e],
              from.intervals.begin() + from.end[e]);
  }

  void AddRawEdges(std::vector<ExplanationEdge>& edges) const {
    for (uint32_t e = 0; e < found_.raw.in.size(); ++e) {
      if (found_.raw.in[e] == 0) continue;
      for (uint32_t i = x_.causes_begin[e]; i < x_.causes_begin[e + 1]; ++i)
        edges.push_back({vertex_of_[x_.causes[i]], vertex_of_[e], ExplanationEdgeKind::kCausal, 0});
    }
    for (const auto& [before, after] : found_.raw.sequencing)
      edges.push_back({vertex_of_[before], vertex_of_[after], ExplanationEdgeKind::kSequencing, 0});
    std::sort(edges.begin(), edges.end(),
              [](const ExplanationEdge& a, const ExplanationEdge& b) { return Key(a) < Key(b); });
  }

  // An edge, and instants whose walk takes it; none for a causal edge that is just there.
  struct Taken {
    ExplanationEdge edge;
    Nanos begin_ns, end_ns;
  };
  static std::tuple<uint32_t, uint32_t, ExplanationEdgeKind> Key(const ExplanationEdge& e) {
    return {e.from, e.to, e.kind};
  }

  void AddEdges(std::vector<ExplanationEdge>& edges) const {
    std::vector<Taken> taken;
    const auto add = [&](uint32_t from, uint32_t to, ExplanationEdgeKind kind, Nanos begin,
                         Nanos end) {
      if (vertex_of_[from] != vertex_of_[to])
        taken.push_back({{vertex_of_[from], vertex_of_[to], kind, 0}, begin, end});
    };
    for (uint32_t e = 0; e < found_.pruned.size(); ++e) {
      if (found_.pruned[e] == 0) continue;
      for (uint32_t i = x_.causes_begin[e]; i < x_.causes_begin[e + 1]; ++i)
        add(x_.causes[i], e, ExplanationEdgeKind::kCausal, INT64_MIN, INT64_MIN);
    }
    for (const BlameStep& step : found_.blame.steps)
      add(step.by, step.of, step.kind, step.begin_ns, step.end_ns);
    std::sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) {
      const auto ka = Key(a.edge), kb = Key(b.edge);
      return ka != kb ? ka < kb : a.begin_ns < b.begin_ns;
    });
    Nanos reached = INT64_MIN;  // within the edge: instants up to here are counted
    for (const Taken& one : taken) {
      if (edges.empty() || Key(edges.back()) != Key(one.edge)) {
        edges.push_back(one.edge);
        reached = INT64_MIN;
      }
      if (one.begin_ns == INT64_MIN && one.end_ns == INT64_MIN) continue;
      const Nanos begin = std::max(one.begin_ns, reached);
      if (begin < one.end_ns) edges.back().delay_ns += one.end_ns - begin;
      reached = std::max(reached, one.end_ns);
    }
  }

  const Execution& x_;
  const Findings& found_;
  const ExplanationView view_;
  std::vector<uint32_t> vertex_of_;  // by event
};

}  // namespace

bool ComesBefore(const ExplanationVertex& a, const ExplanationVertex& b) {
  return std::tie(a.start_ns, a.end_ns, a.members[0]) <
         std::tie(b.start_ns, b.end_ns, b.members[0]);
}

Result<Explanation> Explain(const Execution& x, const ExplainOptions& options) {
  const auto id = [&](uint32_t e) { return x.str(x.id[e]); };
  Findings found;
  found.functional = CausalAncestors(x, options.to);
  if (options.from > options.to || found.functional[options.from] == 0) {
    return NotFound(fmt::format("no causal path from {} to {}", id(options.from), id(options.to)),
                    "choose an event and one that it helped to cause");
  }
  Explanation out;
  out.from = options.from;
  out.root = options.to;
  if (__builtin_sub_overflow(x.end_ns[options.to], x.start_ns[options.from], &out.delay_ns)) {
    return BadInput(fmt::format("the time from {} to {} is longer than 64 bits of nanoseconds",
                                id(options.from), id(options.to)),
                    "are the times right?");
  }
  found.raw = BuildRawGraph(x, options.to);
  found.blame = FindBlame(x, options.from, options.to);
  found.pruned = Pruned(x, found);
  found.merged = Merged(x, found);
  out.sizes.raw = found.raw.vertices;
  for (uint32_t e = 0; e <= options.to; ++e) {
    out.sizes.nonzero += found.blame.delay_ns[e] > 0 ? 1 : 0;
    out.sizes.pruned += found.pruned[e];
    out.sizes.aggregated += found.merged[e] == e ? 1 : 0;
  }
  ViewBuilder(x, found, options.view).Build(out);
  if (!options.what_if.empty()) out.what_if = ReplayScaled(x, options);
  return out;
}

namespace {

// Which server a hold takes depends on all that held the resource before it began, up to the end of time: a hold may
// begin long before its event's turn.
void AddSharersOfServers(const Execution& x, std::vector<uint8_t>& in) {
  std::vector<bool> several(x.resource_name.size(), false);
  for (uint32_t e = 0; e < in.size(); ++e) {
    if (in[e] == 0) continue;
    for (uint32_t h = x.holds_begin[e]; h < x.holds_begin[e + 1]; ++h) {
      const uint32_t resource = x.holds[h].resource;
      if (x.servers[resource] > 1) several[resource] = true;
    }
  }
  in.resize(x.size(), 0);
  for (uint32_t h = 0; h < x.holds.size(); ++h) {
    if (several[x.holds[h].resource]) in[x.holder[h]] = 1;
  }
  CloseUnderCauses(x, in);
}

}  // namespace

std::string ExtractEvents(const Execution& x, uint32_t to, ExtractScope scope) {
  RawGraph raw = BuildRawGraph(x, to);
  if (scope == ExtractScope::kServersAlike) AddSharersOfServers(x, raw.in);
  std::string out;
  std::vector<bool> told(x.resource_name.size(), false);
  auto lost = x.lost_causes.begin();
  for (uint32_t e = 0; e < raw.in.size(); ++e) {
    if (raw.in[e] == 0) continue;
    ProvenanceEvent event;
    event.id = x.str(x.id[e]);
    event.type = x.type[e];
    event.node = x.str(x.node[e]);
    event.tuple = x.str(x.tuple[e]);
    event.start_ns = x.start_ns[e];
    event.end_ns = x.end_ns[e];
    event.rule = x.str(x.rule[e]);
    event.peer = x.str(x.peer[e]);
    event.origin = x.str(x.origin[e]);
    for (uint32_t i = x.causes_begin[e]; i < x.causes_begin[e + 1]; ++i)
      event.causes.emplace_back(x.str(x.id[x.causes[i]]));
    while (lost != x.lost_causes.end() && lost->first < e) ++lost;
    for (; lost != x.lost_causes.end() && lost->first == e; ++lost)
      event.causes.emplace_back(x.str(lost->second));
    if (x.ready_told[e]) event.ready_ns = x.ready_ns[e];
    event.holds.emplace();
    for (uint32_t h = x.holds_begin[e]; h < x.holds_begin[e + 1]; ++h) {
      const Hold& hold = x.holds[h];
      const std::string resource(x.str(x.resource_name[hold.resource]));
      if (x.servers[hold.resource] > 1 && !told[hold.resource])
        AppendProvenanceLine(ResourceServers{resource, x.servers[hold.resource]}, out);
      told[hold.resource] = true;
      ProvenanceHold& one = event.holds->emplace_back();
      one.resource = resource;
      if (hold.since_ns != x.start_ns[e]) one.since_ns = hold.since_ns;
    }
    const bool its_node = event.holds->size() == 1 && event.holds->front().resource == event.node &&
                          !event.holds->front().since_ns;
    if (its_node) event.holds.reset();
    AppendProvenanceLine(event, out);
  }
  return out;
}

}  // namespace wf::provenance
