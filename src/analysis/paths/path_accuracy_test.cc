#include "analysis/paths/path_accuracy.h"

#include <gtest/gtest.h>

#include "analysis/paths/testing_calls.h"

namespace wf::paths {
namespace {

using testing_calls::Trace;

// Lines from 1; 0: a root.
std::vector<ParentRow> Rows(std::vector<uint64_t> parents) {
  std::vector<ParentRow> rows;
  for (size_t i = 0; i < parents.size(); ++i)
    rows.push_back({{1, i + 1}, parents[i] == 0 ? Place{} : Place{1, parents[i]}});
  return rows;
}

// The paper's example (§7.5.1): truth A→B→C→D twice, found once plus A→B and C→D.
class TwicePathABCD : public ::testing::Test {
 protected:
  TwicePathABCD() {
    for (int i = 0; i < 2; ++i) {
      trace_.Add("A", "B", 0, 9);
      trace_.Add("B", "C", 1, 8);
      trace_.Add("C", "D", 2, 7);
    }
  }
  PathAccuracy Measure(std::vector<ParentRow> found) {
    return MeasureAccuracy(Rows({0, 1, 2, 0, 4, 5}), std::move(found), NamesOf(trace_.calls),
                           trace_.names);
  }
  Trace trace_;
};

TEST_F(TwicePathABCD, FoundOnceAndInPieces) {
  std::vector<ParentRow> found = Rows({0, 1, 2, 0, 0, 0});
  found.erase(found.begin() + 4);  // B→C of the second was not found
  const PathAccuracy accuracy = Measure(found);
  EXPECT_EQ(accuracy.pattern_fn, 0u);
  EXPECT_EQ(accuracy.pattern_fp, 2u);
  EXPECT_EQ(accuracy.instance_fn, 1u);
  EXPECT_EQ(accuracy.instance_fp, 2u);
  EXPECT_EQ(accuracy.true_instances, 2u);
  EXPECT_EQ(accuracy.found_instances, 3u);
  EXPECT_EQ(accuracy.messages.part, 3u);
  EXPECT_EQ(accuracy.messages.of, 6u);
  EXPECT_EQ(accuracy.edges.part, 2u);
  EXPECT_EQ(accuracy.edges.of, 4u);
  EXPECT_EQ(accuracy.traces.part, 1u);
  EXPECT_EQ(accuracy.traces.of, 2u);
}

TEST_F(TwicePathABCD, FoundWhole) {
  const PathAccuracy accuracy = Measure(Rows({0, 1, 2, 0, 4, 5}));
  EXPECT_EQ(accuracy.traces.part, 2u);
  EXPECT_EQ(accuracy.edges.part, 4u);
  EXPECT_EQ(accuracy.messages.part, 0u);
  EXPECT_EQ(accuracy.pattern_fp + accuracy.pattern_fn, 0u);
  ASSERT_EQ(accuracy.top.size(), 1u);
  EXPECT_EQ(accuracy.top[0].missing, 0);
}

TEST_F(TwicePathABCD, SwappedCallsGiveTheSamePatternsButNoWholeTrace) {
  const PathAccuracy accuracy = Measure(Rows({0, 1, 5, 0, 4, 2}));
  EXPECT_EQ(accuracy.pattern_fp + accuracy.pattern_fn + accuracy.instance_fp, 0u);
  EXPECT_EQ(accuracy.edges.part, 2u);
  EXPECT_EQ(accuracy.traces.part, 0u);
  EXPECT_EQ(accuracy.messages.part, 6u);
}

TEST(PathAccuracy, AForeignCallSpoilsATrace) {
  Trace trace;
  trace.Add("A", "B", 0, 9);
  trace.Add("A", "B", 0, 9);
  trace.Add("B", "C", 1, 8);  // belongs to the second
  const PathAccuracy accuracy =
      MeasureAccuracy(Rows({0, 0, 2}), Rows({0, 0, 1}), NamesOf(trace.calls), trace.names);
  EXPECT_EQ(accuracy.traces.part, 0u);
  EXPECT_EQ(accuracy.traces.of, 2u);
}

TEST(PathAccuracy, AMissingRowIsWrong) {
  Trace trace;
  trace.Add("A", "B", 0, 9);
  const PathAccuracy accuracy = MeasureAccuracy(Rows({0}), {}, NamesOf(trace.calls), trace.names);
  EXPECT_EQ(accuracy.traces.part, 0u);
  EXPECT_EQ(accuracy.traces.of, 1u);
  EXPECT_EQ(accuracy.messages.part, 1u);
  EXPECT_EQ(accuracy.pattern_fn, 1u);
}

TEST(PathAccuracy, TopNForgivesNearTies) {
  // True counts: X 100, Y 99, Z 98; found: X 100, Z 98, Y 97, and 90 that became W.
  Trace trace;
  std::vector<uint64_t> parents;
  const auto paths = [&](const char* node, int count) {
    for (int i = 0; i < count; ++i) {
      trace.Add("A", node, 0, 1);
      parents.push_back(0);
    }
  };
  paths("X", 100);
  paths("Y", 99);
  paths("Z", 98);
  std::vector<ParentRow> found = Rows(parents);
  found[100].unpaired = found[101].unpaired = true;  // two of Y are lost
  const PathAccuracy accuracy =
      MeasureAccuracy(Rows(parents), found, NamesOf(trace.calls), trace.names);
  ASSERT_EQ(accuracy.top.size(), 3u);
  EXPECT_EQ(accuracy.top[0].missing, 0);
  EXPECT_DOUBLE_EQ(accuracy.top[1].missing, 0.5);  // Y: 97 found against Z's 98
  EXPECT_EQ(accuracy.top[1].within_2, 0);
  EXPECT_EQ(accuracy.top[2].missing, 0);
  EXPECT_EQ(accuracy.instance_fn, 2u);
}

TEST(PathAccuracy, TopNDoesNotMindTies) {
  Trace trace;
  std::vector<uint64_t> parents(6, 0);
  for (const char* node : {"X", "X", "Y", "Y", "Z", "Z"}) trace.Add("A", node, 0, 1);
  std::vector<ParentRow> found = Rows(parents);
  found[0].unpaired = found[2].unpaired = found[4].unpaired = true;
  const PathAccuracy accuracy =
      MeasureAccuracy(Rows(parents), found, NamesOf(trace.calls), trace.names);
  for (const TopAccuracy& top : accuracy.top) EXPECT_EQ(top.missing, 0);
}

TEST(PathAccuracy, ARingInTheTruthDoesNotHang) {
  Trace trace;
  trace.Add("A", "B", 0, 9);
  trace.Add("B", "A", 0, 9);
  const PathAccuracy accuracy =
      MeasureAccuracy(Rows({2, 1}), Rows({0, 1}), NamesOf(trace.calls), trace.names);
  EXPECT_EQ(accuracy.traces.of, 1u);
}

}  // namespace
}  // namespace wf::paths
