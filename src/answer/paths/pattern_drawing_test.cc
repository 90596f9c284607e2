#include "answer/paths/pattern_drawing.h"

#include <gtest/gtest.h>

#include "analysis/paths/path_forest.h"
#include "analysis/paths/testing_calls.h"

namespace wf::answer {
namespace {

TEST(PatternDrawing, AsFigure8WithALinkThatMatters) {
  paths::testing_calls::Trace trace;
  trace.Add("A", "B", 0, 100);
  trace.Add("B", "C", 10, 20);
  paths::Call& far = trace.Add("B", "D", 30, 90);
  far.received_ns = 50, far.replied_ns = 70;
  const std::vector<uint32_t> parents = {paths::kNoParent, 0, 0};
  paths::PathForest forest = paths::BuildForest(trace.calls, parents, paths::kNoParent - 1);
  const std::vector<uint32_t> roots = forest.roots;
  paths::PatternTable table(trace.names);
  table.Add(trace.calls, forest, roots);
  PathsAnswer answer;
  answer.algorithm = "nesting";
  answer.table = &table;
  answer.names = &trace.names;
  const PathsDrawing drawing = DrawPatterns(answer);
  std::string boxes;
  for (const DrawnNode& node : drawing.nodes)
    boxes +=
        node.name + (node.marked ? "!" : "") + (node.note.empty() ? " " : ":" + node.note + " ");
  EXPECT_EQ(boxes, "A B!:100 ns C:10 ns link:40 ns D:20 ns ");
  ASSERT_EQ(drawing.arrows.size(), 4u);
  EXPECT_EQ(drawing.arrows[0].labels, (std::vector<std::string>{"1 path", "100 ns total"}));
  EXPECT_EQ(drawing.arrows[1].labels, (std::vector<std::string>{"10 ns"}));
  EXPECT_EQ(drawing.arrows[2].labels, (std::vector<std::string>{"30 ns"}));
  EXPECT_TRUE(drawing.arrows[3].labels.empty());
}

}  // namespace
}  // namespace wf::answer
