// After Sugiyama: cut cycles, layer by the longest way, give an edge that crosses layers a place in each of them, order
// each layer by the middle of its neighbours, then move everything as near to its neighbours as the order allows.
// The last step is exact for one layer: least squares under "right of its neighbour by at least so much" is isotonic
// regression, solved by pooling (PAVA), so a heavy chain comes out straight without tuned constants.
#include "graph/layered_layout.h"

#include <algorithm>

namespace wf::graph {
namespace {

// Crossings stop falling after a few; each costs one sort of every layer.
constexpr int kOrderSweeps = 8;
// Down and up in turn, ending upwards so that the first node centres its causes.
constexpr int kPlaceSweeps = 12;

struct Place {
  uint32_t layer = 0;
  double width = 0;
  double x = 0;
};

struct Tie {  // between places of neighbouring layers
  uint32_t upper, lower;
  double weight;
};

class Drawing {
 public:
  Drawing(size_t nodes, const std::vector<LayoutEdge>& edges, const LayoutWidths& widths)
      : nodes_(nodes), edges_(edges), widths_(widths) {}

  LayeredLayout Draw() {
    FindLayers();
    MakePlaces();
    Order();
    Settle();
    return Finish();
  }

 private:
  // Longest way from a node nothing leads to. A depth-first walk names the edges that close a cycle.
  void FindLayers() {
    std::vector<std::vector<uint32_t>> out(nodes_);
    std::vector<bool> has_upper(nodes_, false);
    for (uint32_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].from == edges_[e].to) continue;
      out[edges_[e].from].push_back(e);
      has_upper[edges_[e].to] = true;
    }
    std::vector<uint8_t> state(nodes_, 0);  // 1: on the walk, 2: done
    std::vector<uint32_t> finished;
    closes_.assign(edges_.size(), false);
    const auto walk = [&](uint32_t root) {
      if (state[root] != 0) return;
      std::vector<std::pair<uint32_t, size_t>> stack = {{root, 0}};
      state[root] = 1;
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next == out[node].size()) {
          state[node] = 2;
          finished.push_back(node);
          stack.pop_back();
          continue;
        }
        const uint32_t e = out[node][next++];
        const uint32_t to = edges_[e].to;
        if (state[to] == 1) {
          closes_[e] = true;
        } else if (state[to] == 0) {
          state[to] = 1;
          stack.emplace_back(to, 0);
        }
      }
    };
    if (nodes_ > 0) walk(0);
    for (uint32_t v = 0; v < nodes_; ++v) {
      if (!has_upper[v]) walk(v);
    }
    for (uint32_t v = 0; v < nodes_; ++v) walk(v);
    layer_.assign(nodes_, 0);
    for (auto it = finished.rbegin(); it != finished.rend(); ++it) {
      for (const uint32_t e : out[*it]) {
        if (!closes_[e]) layer_[edges_[e].to] = std::max(layer_[edges_[e].to], layer_[*it] + 1);
      }
    }
    layers_ = 0;
    for (const uint32_t l : layer_) layers_ = std::max(layers_, l + 1);
  }

  void MakePlaces() {
    for (uint32_t v = 0; v < nodes_; ++v) places_.push_back({layer_[v], widths_.node, 0});
    edge_places_.resize(edges_.size());
    for (uint32_t e = 0; e < edges_.size(); ++e) {
      uint32_t upper = edges_[e].from, lower = edges_[e].to;
      if (layer_[upper] > layer_[lower]) std::swap(upper, lower);
      if (layer_[upper] == layer_[lower]) continue;
      uint32_t last = upper;
      for (uint32_t l = layer_[upper] + 1; l < layer_[lower]; ++l) {
        const auto bend = static_cast<uint32_t>(places_.size());
        places_.push_back({l, widths_.bend, 0});
        edge_places_[e].push_back(bend);
        ties_.push_back({last, bend, edges_[e].weight});
        last = bend;
      }
      ties_.push_back({last, lower, edges_[e].weight});
    }
    above_.resize(places_.size());
    below_.resize(places_.size());
    for (const Tie& tie : ties_) {
      above_[tie.lower].emplace_back(tie.upper, tie.weight);
      below_[tie.upper].emplace_back(tie.lower, tie.weight);
    }
    rows_.resize(layers_);
    for (uint32_t p = 0; p < places_.size(); ++p) rows_[places_[p].layer].push_back(p);
  }

  using Neighbours = std::vector<std::vector<std::pair<uint32_t, double>>>;

  double Middle(uint32_t place, const Neighbours& side, double otherwise) const {
    double sum = 0, weight = 0;
    for (const auto& [other, w] : side[place]) {
      // Weightless edges still say where a node belongs, as long as no heavy one does.
      sum += places_[other].x * (w + 1e-6);
      weight += w + 1e-6;
    }
    return weight > 0 ? sum / weight : otherwise;
  }

  void Spread(std::vector<uint32_t>& row) {
    for (size_t i = 0; i < row.size(); ++i)
      places_[row[i]].x = (static_cast<double>(i) + 0.5) / static_cast<double>(row.size());
  }

  void Order() {
    for (auto& row : rows_) Spread(row);
    std::vector<double> middle(places_.size());
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 0; i < rows_.size(); ++i) {
        auto& row = rows_[down ? i : rows_.size() - 1 - i];
        for (const uint32_t p : row) middle[p] = Middle(p, down ? above_ : below_, places_[p].x);
        std::stable_sort(row.begin(), row.end(),
                         [&](uint32_t a, uint32_t b) { return middle[a] < middle[b]; });
        Spread(row);
      }
    }
  }

  // Distance the centres of neighbours a and b must keep.
  double Apart(uint32_t a, uint32_t b) const {
    return (places_[a].width + places_[b].width) / 2 + widths_.gap;
  }

  // Moves a row as near to `wanted` as its order and distances allow.
  void Pool(const std::vector<uint32_t>& row, const std::vector<double>& wanted,
            const std::vector<double>& weight) {
    struct Block {
      double sum, weight;
      size_t begin;
      double Mean() const { return sum / weight; }
    };
    std::vector<double> offset(row.size(), 0);
    for (size_t i = 1; i < row.size(); ++i) offset[i] = offset[i - 1] + Apart(row[i - 1], row[i]);
    std::vector<Block> blocks;
    for (size_t i = 0; i < row.size(); ++i) {
      blocks.push_back({(wanted[i] - offset[i]) * weight[i], weight[i], i});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].Mean() > blocks.back().Mean()) {
        const Block last = blocks.back();
        blocks.pop_back();
        blocks.back().sum += last.sum;
        blocks.back().weight += last.weight;
      }
    }
    for (size_t b = 0; b < blocks.size(); ++b) {
      const size_t end = b + 1 < blocks.size() ? blocks[b + 1].begin : row.size();
      for (size_t i = blocks[b].begin; i < end; ++i)
        places_[row[i]].x = blocks[b].Mean() + offset[i];
    }
  }

  void Settle() {
    for (const auto& row : rows_) {
      double x = 0;
      for (size_t i = 0; i < row.size(); ++i) {
        if (i > 0) x += Apart(row[i - 1], row[i]);
        places_[row[i]].x = x;
      }
    }
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 0; i < rows_.size(); ++i) {
        const auto& row = rows_[down ? i : rows_.size() - 1 - i];
        std::vector<double> wanted, weight;
        for (const uint32_t p : row) {
          const auto& side = down ? above_ : below_;
          double pull = 1e-3;
          for (const auto& [other, w] : side[p]) pull += w;
          wanted.push_back(Middle(p, side, places_[p].x));
          weight.push_back(pull);
        }
        Pool(row, wanted, weight);
      }
    }
  }

  LayeredLayout Finish() const {
    LayeredLayout out;
    double left = 0, right = 0;
    for (size_t p = 0; p < places_.size(); ++p) {
      const double l = places_[p].x - places_[p].width / 2, r = l + places_[p].width;
      left = p == 0 ? l : std::min(left, l);
      right = p == 0 ? r : std::max(right, r);
    }
    out.layer = layer_;
    out.layers = layers_;
    out.width = right - left;
    for (size_t v = 0; v < nodes_; ++v) out.x.push_back(places_[v].x - left);
    for (const auto& way : edge_places_) {
      auto& bends = out.bends.emplace_back();
      for (const uint32_t p : way) bends.push_back(places_[p].x - left);
    }
    return out;
  }

  const size_t nodes_;
  const std::vector<LayoutEdge>& edges_;
  const LayoutWidths widths_;
  std::vector<uint32_t> layer_;
  std::vector<bool> closes_;
  uint32_t layers_ = 0;
  std::vector<Place> places_;  // nodes first, then bends
  std::vector<Tie> ties_;
  Neighbours above_, below_;
  std::vector<std::vector<uint32_t>> rows_, edge_places_;
};

}  // namespace

LayeredLayout LayOutLayers(size_t nodes, const std::vector<LayoutEdge>& edges,
                           const LayoutWidths& widths) {
  return Drawing(nodes, edges, widths).Draw();
}

}  // namespace wf::graph
