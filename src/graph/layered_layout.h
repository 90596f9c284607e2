// Layered drawing of a directed graph: each node below those that lead to it, few crossings, straight where most
// of the weight runs. Cycles are cut where a walk from the first node closes them; the edge is drawn all the same.
// Pure function; the same drawing every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wf::graph {

struct LayoutEdge {
  uint32_t from = 0, to = 0;  // `to` is drawn below `from`
  double weight = 1;          // more weight, straighter; not negative
};

struct LayoutWidths {
  double node = 1;  // of every node
  double bend = 0;  // of the way an edge takes between the nodes of a layer
  double gap = 0;   // between neighbours
};

struct LayeredLayout {
  std::vector<uint32_t> layer;  // of each node, 0 on top
  std::vector<double> x;        // of each node's centre; the leftmost edge of the drawing is 0
  uint32_t layers = 0;
  double width = 0;
  // Of each edge, its x at every layer strictly between its ends, downwards from the upper one.
  std::vector<std::vector<double>> bends;
};

// Node 0 is the first to be placed; nodes nothing leads to are on top. Costs about edges × layers.
LayeredLayout LayOutLayers(size_t nodes, const std::vector<LayoutEdge>& edges,
                           const LayoutWidths& widths);

}  // namespace wf::graph
