#include "answer/explain/explain_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "answer/frame/text_table.h"

namespace wf::answer {
namespace {

// The first cause of an event along the causes that set it off: of several, the one that ended last did.
class FirstCauses {
 public:
  explicit FirstCauses(const provenance::Execution& execution)
      : x_(execution), first_(execution.size(), provenance::kNoEvent) {}

  uint32_t Of(uint32_t event) {
    std::vector<uint32_t> way;
    uint32_t at = event;
    while (first_[at] == provenance::kNoEvent) {
      way.push_back(at);
      const uint32_t cause = Trigger(at);
      if (cause == provenance::kNoEvent) {
        first_[at] = at;
        break;
      }
      at = cause;
    }
    for (const uint32_t e : way) first_[e] = first_[at];
    return first_[at];
  }

 private:
  uint32_t Trigger(uint32_t event) const {
    uint32_t best = provenance::kNoEvent;
    for (uint32_t i = x_.causes_begin[event]; i < x_.causes_begin[event + 1]; ++i) {
      const uint32_t cause = x_.causes[i];
      if (best == provenance::kNoEvent || x_.end_ns[cause] > x_.end_ns[best] ||
          (x_.end_ns[cause] == x_.end_ns[best] && cause > best))
        best = cause;
    }
    return best;
  }

  const provenance::Execution& x_;
  std::vector<uint32_t> first_;
};

using Server = std::pair<uint32_t, uint32_t>;  // resource, which of its servers

// How many of a vertex's members took each server: made once a vertex, however many edges it has.
class ServersTaken {
 public:
  ServersTaken(const provenance::Execution& execution, const provenance::Explanation& explanation)
      : x_(execution), explanation_(explanation), counts_(explanation.vertices.size()) {}

  // The server that most of the predecessors and a waiter both took, as its resource is called.
  std::string Shared(uint32_t predecessor, uint32_t waiter) {
    const Counts &by = Of(predecessor), &of = Of(waiter);
    const Server* most = nullptr;
    size_t times = 0;
    const auto consider = [&](const Server& server, size_t count) {
      if (count > times || (count == times && (most == nullptr || server < *most)))
        most = &server, times = count;
    };
    // By the shorter of the two lists.
    if (by.size() <= of.size()) {
      for (const auto& [server, count] : by) {
        if (of.count(server) != 0) consider(server, count);
      }
    } else {
      for (const auto& [server, taken] : of) {
        if (const auto at = by.find(server); at != by.end()) consider(at->first, at->second);
      }
    }
    return most == nullptr ? "" : std::string(x_.str(x_.resource_name[most->first]));
  }

 private:
  using Counts = std::map<Server, size_t>;

  const Counts& Of(uint32_t vertex) {
    std::optional<Counts>& counts = counts_[vertex];
    if (counts) return *counts;
    counts.emplace();
    for (const uint32_t e : explanation_.vertices[vertex].members) {
      for (uint32_t h = x_.holds_begin[e]; h < x_.holds_begin[e + 1]; ++h)
        ++(*counts)[{x_.holds[h].resource, x_.holds[h].server}];
    }
    return *counts;
  }

  const provenance::Execution& x_;
  const provenance::Explanation& explanation_;
  std::vector<std::optional<Counts>> counts_;
};

Nanos BeforeStart(const provenance::ExplanationVertex& vertex) {
  Nanos sum = 0;
  for (const auto& [begin, end] : vertex.self_intervals)
    sum += std::max<Nanos>(0, std::min(end, vertex.start_ns) - begin);
  return sum;
}

}  // namespace

ExplainGraph NamedExplanation(const provenance::Execution& x,
                              const provenance::Explanation& explanation, EventWords words) {
  ExplainGraph out;
  out.words = words;
  out.delay_ns = explanation.delay_ns;
  out.sizes = explanation.sizes;
  out.what_if = explanation.what_if;
  FirstCauses first_causes(x);
  for (const provenance::ExplanationVertex& vertex : explanation.vertices) {
    const auto at = static_cast<uint32_t>(out.nodes.size());
    const uint32_t first = vertex.members.front();
    ExplainNode& node = out.nodes.emplace_back();
    node.type = x.type[first];
    node.id = x.str(x.id[first]);
    node.node = x.str(x.node[first]);
    node.tuple = x.str(vertex.members.size() > 1 ? x.name[first] : x.tuple[first]);
    node.origin = x.str(x.origin[first]);
    node.start_ns = vertex.start_ns, node.end_ns = vertex.end_ns;
    node.delay_ns = vertex.delay_ns, node.self_ns = vertex.self_ns;
    if (vertex.members.size() == 1) node.waited_ns = BeforeStart(vertex);
    node.functional = vertex.functional, node.expired = vertex.expired;
    node.count = static_cast<int64_t>(vertex.members.size());
    std::set<std::pair<uint32_t, uint32_t>> work;
    for (const uint32_t e : vertex.members) {
      work.emplace(x.tuple[e], first_causes.Of(e));
      if (e == explanation.root) out.root = at;
      if (e == explanation.from) out.from = at;
    }
    node.requests = static_cast<int64_t>(work.size());
  }
  ServersTaken taken(x, explanation);
  for (const provenance::ExplanationEdge& edge : explanation.edges) {
    ExplainLink& link = out.links.emplace_back();
    link.from = edge.from, link.to = edge.to, link.kind = edge.kind;
    link.delay_ns = edge.delay_ns;
    if (edge.kind == provenance::ExplanationEdgeKind::kSequencing)
      link.resource = taken.Shared(edge.from, edge.to);
  }
  return out;
}

std::string_view TupleName(std::string_view tuple) {
  if (!tuple.empty() && (tuple[0] == '+' || tuple[0] == '-')) tuple.remove_prefix(1);
  return tuple.substr(0, tuple.find('('));
}

std::string_view ReadableTuple(std::string_view tuple) {
  const size_t open = tuple.find('(');
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (open == std::string_view::npos || tuple.size() != open + 18 || tuple.back() != ')')
    return tuple;
  const std::string_view id = tuple.substr(open + 1, 16);
  return std::all_of(id.begin(), id.end(), hex) ? tuple.substr(0, open) : tuple;
}

std::string WaitedOn(const ExplainGraph& graph, const ExplainLink& link) {
  const std::string node = Printable(graph.nodes[link.to].node);
  const std::string resource = Printable(link.resource);
  if (resource.empty() || resource == node || resource.rfind("workers of ", 0) == 0) return node;
  return resource.find(node) != std::string::npos ? resource : resource + " at " + node;
}

EventWords WordsOf(provenance::ExplanationView view) {
  return view == provenance::ExplanationView::kRaw ? EventWords::kTypes : EventWords::kPlain;
}

std::string TypeWord(ProvenanceType type, EventWords words) {
  if (words == EventWords::kTypes) return std::string(ProvenanceTypeName(type)) + " ";
  switch (type) {
    case ProvenanceType::kInsert:
    case ProvenanceType::kDerive:
      return "";
    case ProvenanceType::kDelete:
    case ProvenanceType::kUnderive:
      return "delete ";
    case ProvenanceType::kSend:
      return "send ";
    case ProvenanceType::kReceive:
      return "receive ";
  }
  return "";
}

std::string NodeLabel(const ExplainNode& node, EventWords words) {
  std::string out;
  if (node.count > 1) out = fmt::format("{} × ", node.count);
  out += fmt::format("{}{} on {}", TypeWord(node.type, words), Printable(ReadableTuple(node.tuple)),
                     Printable(node.node));
  if (!node.origin.empty() && !node.functional) out += ", from " + Printable(node.origin);
  if (node.expired) out += ", expired";
  return out;
}

std::vector<Nanos> LinkTimes(const ExplainGraph& graph) {
  std::vector<Nanos> out;
  bool told = false;
  for (const ExplainLink& link : graph.links) told = told || link.delay_ns > 0;
  for (const ExplainLink& link : graph.links)
    out.push_back(told ? link.delay_ns : graph.nodes[link.from].delay_ns);
  return out;
}

}  // namespace wf::answer
