#include "analysis/paths/convolution_forest.h"

#include <algorithm>

namespace wf::paths {
namespace {

constexpr uint64_t kGoOn = 10;
constexpr double kFirmer = 2, kGhost = 0.8;

class Merger {
 public:
  explicit Merger(VisitForest& forest) : forest_(forest) {}

  void Merge(uint32_t visit) {
    std::vector<uint32_t> kept;
    // Indices, because merging appends to the children of those kept.
    for (size_t i = 0; i < forest_.visits[visit].children.size(); ++i) {
      const uint32_t child = forest_.visits[visit].children[i];
      const auto same = std::find_if(kept.begin(), kept.end(), [&](uint32_t k) {
        return forest_.visits[k].node == forest_.visits[child].node;
      });
      if (same == kept.end()) {
        kept.push_back(child);
      } else {
        Join(*same, child);
      }
    }
    forest_.visits[visit].children = kept;
    for (const uint32_t child : kept) Merge(child);
  }

 private:
  void Join(uint32_t into, uint32_t from) {
    Visit& a = forest_.visits[into];
    Visit& b = forest_.visits[from];
    a.count += b.count;
    for (const auto& [delay, count] : b.delays) a.delays[delay] += count;
    for (const uint32_t child : b.children) {
      forest_.visits[child].parent = into;
      a.children.push_back(child);
    }
    b.children.clear();
  }

  VisitForest& forest_;
};

}  // namespace

uint32_t VisitForest::Add(NodeId node, uint32_t parent) {
  const auto index = static_cast<uint32_t>(visits.size());
  visits.emplace_back();
  visits.back().node = node;
  visits.back().parent = parent;
  if (parent == kNoVisit) {
    roots.push_back(index);
  } else {
    visits[parent].children.push_back(index);
  }
  return index;
}

uint64_t RemoveGhosts(VisitForest& forest, size_t messages) {
  // The visits that each message made; one root's paths after another's share none but by error.
  std::vector<std::vector<uint32_t>> made(messages);
  std::vector<bool> gone(forest.visits.size(), false);
  for (uint32_t v = 0; v < forest.visits.size(); ++v)
    for (const uint32_t m : forest.visits[v].messages) made[m].push_back(v);
  uint64_t removed = 0;
  // Parents come before their children, so visits below a ghost do not make ghosts of others.
  for (uint32_t v = 0; v < forest.visits.size(); ++v) {
    const Visit& visit = forest.visits[v];
    if (visit.parent != kNoVisit && gone[visit.parent]) gone[v] = true;
    if (gone[v] || visit.delays.empty()) continue;
    const auto elsewhere =
        std::count_if(visit.messages.begin(), visit.messages.end(), [&](uint32_t m) {
          return std::any_of(made[m].begin(), made[m].end(), [&](uint32_t other) {
            return !gone[other] && forest.visits[other].strength >= kFirmer * visit.strength;
          });
        });
    if (static_cast<double>(elsewhere) < kGhost * static_cast<double>(visit.messages.size()))
      continue;
    gone[v] = true;
    std::erase(forest.visits[visit.parent].children, v);
    ++removed;
  }
  for (Visit& visit : forest.visits) visit.messages = {};
  return removed;
}

void MergeSiblings(VisitForest& forest) {
  Merger merger(forest);
  for (const uint32_t root : forest.roots) merger.Merge(root);
}

uint64_t RemoveShortPaths(VisitForest& forest, uint64_t seldom) {
  // The max number of messages that go on after arriving over an edge.
  std::map<std::pair<NodeId, NodeId>, uint64_t> go_on;
  for (const Visit& visit : forest.visits) {
    if (visit.parent == kNoVisit || visit.children.empty()) continue;
    uint64_t& most = go_on[{forest.visits[visit.parent].node, visit.node}];
    most = std::max(most, visit.count);
  }
  uint64_t removed = 0;
  // Children have higher indices than their parents unless merged; repeat until nothing more ends short.
  for (bool again = true; again;) {
    again = false;
    for (uint32_t parent = 0; parent < forest.visits.size(); ++parent) {
      std::vector<uint32_t>& children = forest.visits[parent].children;
      const size_t before = children.size();
      std::erase_if(children, [&](uint32_t c) {
        const Visit& visit = forest.visits[c];
        if (!visit.children.empty() || visit.delays.empty() || visit.count >= seldom) return false;
        const auto most = go_on.find({forest.visits[parent].node, visit.node});
        return most != go_on.end() && visit.count * kGoOn <= most->second;
      });
      removed += before - children.size();
      again = again || before != children.size();
    }
  }
  return removed;
}

void WriteForest(const VisitForest& forest, Nanos quantum, ConvolutionResult& result) {
  struct Open {
    uint32_t visit, parent;  // parent: its vertex
  };
  for (const uint32_t root : forest.roots) {
    std::vector<Open> open = {{root, kNoVisit}};
    while (!open.empty()) {
      const Open next = open.back();
      open.pop_back();
      const Visit& visit = forest.visits[next.visit];
      const auto vertex = static_cast<uint32_t>(result.vertices.size());
      result.vertices.push_back(visit.node);
      if (next.parent == kNoVisit) {
        result.roots.push_back(vertex);
      } else {
        ConvolutionEdge edge{next.parent, vertex, visit.count, {}};
        for (const auto& [delay, count] : visit.delays)
          edge.delays.push_back({delay * quantum, count});
        std::stable_sort(
            edge.delays.begin(), edge.delays.end(),
            [](const ConvolutionDelay& a, const ConvolutionDelay& b) { return a.count > b.count; });
        result.edges.push_back(std::move(edge));
      }
      std::vector<uint32_t> children = visit.children;
      std::stable_sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) {
        return forest.visits[a].count < forest.visits[b].count;
      });
      for (const uint32_t child : children) open.push_back({child, vertex});
    }
  }
}

}  // namespace wf::paths
