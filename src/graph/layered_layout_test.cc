#include "graph/layered_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace wf::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr LayoutWidths kWidths = {.node = 100, .bend = 10, .gap = 20};

TEST(LayeredLayout, NothingIsDrawnOfNothing) {
  const LayeredLayout out = LayOutLayers(0, {}, kWidths);
  EXPECT_EQ(out.layers, 0u);
  EXPECT_EQ(out.width, 0);
}

TEST(LayeredLayout, AChainIsAStraightLine) {
  const LayeredLayout out = LayOutLayers(3, {{0, 1}, {1, 2}}, kWidths);
  EXPECT_THAT(out.layer, ElementsAre(0, 1, 2));
  EXPECT_THAT(out.x, ElementsAre(50, 50, 50));
  EXPECT_EQ(out.width, 100);
}

TEST(LayeredLayout, ANodeIsBelowAllThatLeadToIt) {
  const LayeredLayout out = LayOutLayers(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}}, kWidths);
  EXPECT_THAT(out.layer, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(out.bends[3].size(), 2u);  // it passes two layers
  EXPECT_THAT(out.bends[0], IsEmpty());
}

TEST(LayeredLayout, TheHeavierWayIsTheStraighterOne) {
  const LayeredLayout out = LayOutLayers(3, {{0, 1, 100}, {0, 2, 1}}, kWidths);
  EXPECT_LT(std::abs(out.x[1] - out.x[0]), std::abs(out.x[2] - out.x[0]));
}

TEST(LayeredLayout, CyclesAndSelfLoopsEnd) {
  const LayeredLayout out = LayOutLayers(3, {{0, 1}, {1, 2}, {2, 0}, {1, 1}, {2, 1}}, kWidths);
  EXPECT_EQ(out.layer[0], 0u);
  EXPECT_EQ(out.layers, 3u);
}

TEST(LayeredLayout, NodesNobodyLeadsToAreOnTop) {
  const LayeredLayout out = LayOutLayers(3, {{0, 2}, {1, 2}}, kWidths);
  EXPECT_THAT(out.layer, ElementsAre(0, 0, 1));
}

TEST(LayeredLayout, NeighboursNeverOverlap) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    const size_t nodes = 1 + random() % 40;
    std::vector<LayoutEdge> edges;
    for (size_t e = random() % 90; e > 0; --e) {
      edges.push_back({static_cast<uint32_t>(random() % nodes),
                       static_cast<uint32_t>(random() % nodes), static_cast<double>(random() % 9)});
    }
    const LayeredLayout out = LayOutLayers(nodes, edges, kWidths);
    for (size_t a = 0; a < nodes; ++a) {
      EXPECT_GE(out.x[a], 50 - 1e-6);
      EXPECT_LE(out.x[a], out.width - 50 + 1e-6);
      for (size_t b = 0; b < a; ++b) {
        if (out.layer[a] == out.layer[b]) {
          EXPECT_GE(std::abs(out.x[a] - out.x[b]), 120 - 1e-6);
        }
      }
    }
    for (size_t e = 0; e < edges.size(); ++e) {
      const uint32_t l = out.layer[edges[e].from], m = out.layer[edges[e].to];
      const size_t between = l == m ? 0 : (l > m ? l - m : m - l) - 1;
      EXPECT_EQ(out.bends[e].size(), between);
    }
  }
}

}  // namespace
}  // namespace wf::graph
