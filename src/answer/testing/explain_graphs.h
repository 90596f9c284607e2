// Explanations made by hand, for the tests of what is written from them.
#pragma once

#include <string>
#include <utility>

#include "answer/explain/explain_graph.h"

namespace wf::answer {

constexpr Nanos kMs = kMilli;

class GraphMaker {
 public:
  // On the request's own path.
  uint32_t On(std::string node, std::string tuple, Nanos delay, Nanos self = 0, Nanos waited = 0,
              ProvenanceType type = ProvenanceType::kDerive) {
    ExplainNode n;
    n.type = type;
    n.id = "e" + std::to_string(g.nodes.size());
    n.node = std::move(node), n.tuple = std::move(tuple), n.origin = "frontend";
    n.delay_ns = delay, n.self_ns = self, n.waited_ns = waited;
    g.nodes.push_back(std::move(n));
    return static_cast<uint32_t>(g.nodes.size() - 1);
  }
  // Off it: `count` events of as many requests.
  uint32_t Off(std::string node, std::string tuple, std::string origin, int64_t count, Nanos delay,
               Nanos self) {
    const uint32_t v = On(std::move(node), std::move(tuple), delay, self);
    ExplainNode& n = g.nodes[v];
    n.functional = false;
    n.origin = std::move(origin);
    n.count = count;
    n.requests = count;
    return v;
  }
  void Causal(uint32_t cause, uint32_t effect, Nanos delay) {
    g.links.push_back({cause, effect, provenance::ExplanationEdgeKind::kCausal, delay, ""});
  }
  void Behind(uint32_t predecessor, uint32_t waiter, Nanos delay, std::string resource = "") {
    if (resource.empty()) resource = g.nodes[waiter].node;
    g.links.push_back({predecessor, waiter, provenance::ExplanationEdgeKind::kSequencing, delay,
                       std::move(resource)});
  }

  ExplainGraph g;
};

// The paper's example (figure 4): a request that took 12 s, 11 s of it behind maintenance's work on storage.
inline GraphMaker PaperExample() {
  GraphMaker m;
  const uint32_t root = m.On("frontend", "response(1)", 12 * kSecond, 0);
  const uint32_t reply =
      m.On("frontend", "+reply(1)", 12 * kSecond, 0, 0, ProvenanceType::kReceive);
  const uint32_t work = m.On("storage", "read(1)", 12 * kSecond, 800 * kMs);
  const uint32_t call =
      m.On("storage", "+call(1)", 200 * kMs, 200 * kMs, 200 * kMs, ProvenanceType::kReceive);
  const uint32_t rewrites =
      m.Off("storage", "rewrite", "maintenance", 58, 11 * kSecond, 11 * kSecond);
  m.Causal(reply, root, 12 * kSecond);
  m.Causal(work, reply, 12 * kSecond);
  m.Causal(call, work, 200 * kMs);
  m.Behind(rewrites, work, 11 * kSecond);
  m.g.delay_ns = 12 * kSecond;
  m.g.root = root, m.g.from = call;
  return m;
}

}  // namespace wf::answer
