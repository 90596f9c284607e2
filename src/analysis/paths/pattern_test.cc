#include "analysis/paths/pattern.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

#include "analysis/paths/nesting.h"
#include "analysis/paths/pattern_insight.h"
#include "analysis/paths/testing_calls.h"

namespace wf::paths {
namespace {

using testing_calls::Trace;

PatternTable Patterns(const Trace& trace, std::vector<uint32_t> parents) {
  PatternTable table(trace.names);
  PathForest forest = BuildForest(trace.calls, parents, Decisions::kUndecided);
  const std::vector<uint32_t> roots = forest.roots;
  table.Add(trace.calls, forest, roots);
  return table;
}

std::string TreeOf(const Trace& trace, const Pattern& pattern, uint32_t node) {
  const PatternNode& at = pattern.nodes[node];
  std::vector<std::string> children;
  for (uint32_t c = 0; c < at.children; ++c)
    children.push_back(TreeOf(trace, pattern, at.first_child + c));
  std::sort(children.begin(), children.end());
  std::string text(trace.names.At(at.node));
  for (size_t c = 0; c < children.size(); ++c) text += (c == 0 ? "(" : " ") + children[c];
  return children.empty() ? text : text + ")";
}

constexpr uint32_t kRoot = kNoParent;

// Figure 2: steps 2, 6 and 10 are told apart.
TEST(Pattern, StepsInsideANodeAreToldApart) {
  Trace trace;
  trace.Add("A", "B", 1, 11);
  trace.Add("B", "C", 3, 5);
  trace.Add("B", "D", 7, 9);
  const PatternTable table = Patterns(trace, {kRoot, 0, 0});
  ASSERT_EQ(table.patterns().size(), 1u);
  const Pattern& pattern = table.patterns().front();
  EXPECT_EQ(trace.names.At(pattern.client), "A");
  EXPECT_EQ(TreeOf(trace, pattern, 0), "B(C D)");
  EXPECT_EQ(pattern.MeanLatency(), 10);
  EXPECT_EQ((std::vector<WideSum>(pattern.steps.begin(), pattern.steps.begin() + 3)),
            (std::vector<WideSum>{2, 2, 2}));
  for (uint32_t n = 1; n < 3; ++n) {
    const bool is_c = trace.names.At(pattern.nodes[n].node) == "C";
    EXPECT_EQ(HeldToNanos(pattern.nodes[n].call_delay), is_c ? 2 : 6);
    EXPECT_EQ(HeldToNanos(pattern.nodes[n].latency), 2);
  }
}

TEST(Pattern, WhatIsKeptDoesNotGrowWithTheCallsBelowARoot) {
  Trace trace;
  std::vector<uint32_t> parents;
  for (Nanos i = 0; i < 1000; ++i) {
    const auto root = static_cast<uint32_t>(trace.calls.size());
    trace.Add("A", "B", i * 100, i * 100 + 90), parents.push_back(kRoot);
    for (Nanos c = 0; c < 8; ++c)
      trace.Add("B", "C", i * 100 + c * 10, i * 100 + c * 10 + 5), parents.push_back(root);
  }
  PatternTable table = Patterns(trace, parents);
  const size_t before = table.MemoryBytes();
  EXPECT_GT(before, trace.calls.size() * sizeof(Nanos));
  table.ReleaseScratch();
  EXPECT_GE(table.MemoryBytes(), 1000 * sizeof(Nanos)) << "exact latencies of the roots";
  EXPECT_LT(table.MemoryBytes(), before / 4);
}

// Linking may find the cause of a call in one whose return was lost.
TEST(Pattern, ACallWhoseCauseHasNoReturnHeadsItsOwnPath) {
  Trace trace;
  trace.Add("A", "B", 1, 1).returned = false;
  trace.Add("B", "C", 2, 9);
  trace.Add("C", "D", 3, 5);
  trace.Add("C", "E", 6, 6).returned = false;
  const PatternTable table = Patterns(trace, {kRoot, 0, 1, 1});
  ASSERT_EQ(table.patterns().size(), 1u);
  const Pattern& pattern = table.patterns().front();
  EXPECT_EQ(trace.names.At(pattern.client), "B");
  EXPECT_EQ(TreeOf(trace, pattern, 0), "C(D)");
}

TEST(Pattern, OverlappingCallsHaveNoStepBetweenThem) {
  Trace trace;
  trace.Add("A", "B", 0, 100);
  trace.Add("B", "C", 10, 60);
  trace.Add("B", "D", 30, 50);
  trace.Add("B", "E", 70, 90);
  const PatternTable table = Patterns(trace, {kRoot, 0, 0, 0});
  const Pattern& pattern = table.patterns().front();
  EXPECT_EQ((std::vector<WideSum>(pattern.steps.begin(), pattern.steps.begin() + 4)),
            (std::vector<WideSum>{10, 0, 10, 10}));
  EXPECT_EQ(HeldToNanos(OwnTime(pattern, 0)), 30);
}

TEST(Pattern, ACallAfterTheReplyTakesNoStep) {
  Trace trace;
  trace.Add("A", "B", 0, 10);
  trace.Add("B", "C", 20, 30);
  const PatternTable table = Patterns(trace, {kRoot, 0});
  const Pattern& pattern = table.patterns().front();
  EXPECT_EQ(pattern.nodes[1].after_reply, 1u);
  EXPECT_EQ(HeldToNanos(pattern.nodes[1].call_delay), 20);
  EXPECT_EQ(pattern.steps[0], 10);
  EXPECT_EQ(pattern.steps[1], 0);
}

TEST(Pattern, TheLinkIsBookedOnNoNode) {
  Trace trace;
  trace.Add("A", "B", 0, 100);
  Call& call = trace.Add("B", "C", 10, 60);
  call.received_ns = 1010, call.replied_ns = 1020;  // C's clock is 990 ns ahead
  const PatternTable table = Patterns(trace, {kRoot, 0});
  const Pattern& pattern = table.patterns().front();
  EXPECT_EQ(HeldToNanos(pattern.nodes[1].link), 40);
  EXPECT_EQ(HeldToNanos(pattern.nodes[1].latency), 10);
  EXPECT_EQ(HeldToNanos(OwnTime(pattern, 0)), 50);
  EXPECT_EQ(HeldToNanos(OwnTime(pattern, 1)), 10);
  EXPECT_EQ(HeldToNanos(pattern.nodes[0].link), 0);
}

TEST(Pattern, LikeSiblingsAlignByTime) {
  Trace trace;
  for (Nanos i = 0; i < 2; ++i) {
    const Nanos at = i * 1000;
    trace.Add("A", "B", at, at + 100);
    trace.Add("B", "C", at + 50 + i, at + 90);  // the second, 40 ns long
    trace.Add("B", "C", at + 10 + i, at + 20);  // the first, 10 ns long
  }
  const PatternTable table = Patterns(trace, {kRoot, 0, 0, kRoot, 3, 3});
  ASSERT_EQ(table.patterns().size(), 1u);
  const Pattern& pattern = table.patterns().front();
  EXPECT_EQ(pattern.count, 2u);
  EXPECT_EQ(HeldToNanos(pattern.nodes[1].call_delay), 21);
  EXPECT_EQ(HeldToNanos(pattern.nodes[2].call_delay), 101);
}

TEST(Pattern, SiblingsOfOneNameButDifferentTreesAlignByTree) {
  Trace trace;
  // B calls C, which calls D, and C, which does not: in either order it is one pattern.
  trace.Add("A", "B", 0, 100);
  trace.Add("B", "C", 10, 30);
  trace.Add("C", "D", 15, 20);
  trace.Add("B", "C", 40, 60);
  trace.Add("A", "B", 1000, 1100);
  trace.Add("B", "C", 1010, 1030);
  trace.Add("B", "C", 1040, 1060);
  trace.Add("C", "D", 1045, 1050);
  const PatternTable table = Patterns(trace, {kRoot, 0, 1, 0, kRoot, 4, 4, 6});
  ASSERT_EQ(table.patterns().size(), 1u);
  EXPECT_EQ(TreeOf(trace, table.patterns().front(), 0), "B(C C(D))");
}

TEST(Pattern, TheClientBelongsToThePattern) {
  Trace trace;
  trace.Add("A", "B", 0, 1);
  trace.Add("X", "B", 5, 6);
  EXPECT_EQ(Patterns(trace, {kRoot, kRoot}).patterns().size(), 2u);
}

TEST(Pattern, IdsAreOfNamesNotOfNumbers) {
  Trace one, other;
  one.Add("A", "B", 0, 1);
  other.names.Intern("B");
  other.Add("A", "B", 7, 9);
  EXPECT_EQ(Patterns(one, {kRoot}).patterns().front().id,
            Patterns(other, {kRoot}).patterns().front().id);
}

// Trees of random shape: a pattern's id is that of the sorted tree, whatever the order of children and calls.
TEST(Pattern, OrderOfChildrenDoesNotMatter) {
  rc::check([] {
    Trace trace;
    std::vector<uint32_t> parents;
    const auto size = *rc::gen::inRange(1, 12);
    for (int i = 0; i < size; ++i) {
      parents.push_back(i == 0 ? kRoot : static_cast<uint32_t>(*rc::gen::inRange(0, i)));
      const std::string caller =
          i == 0 ? "client" : std::string(trace.names.At(trace.calls[parents.back()].callee));
      const Nanos sent = *rc::gen::inRange(0, 50);
      trace.Add(caller, std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, 3))), sent,
                sent + *rc::gen::inRange(0, 50));
    }
    const PatternTable table = Patterns(trace, parents);
    // The same tree with every time replaced: siblings stand in another order.
    Trace moved = trace;
    for (Call& call : moved.calls) {
      call.sent_ns = call.received_ns = *rc::gen::inRange(0, 50);
      call.returned_ns = call.replied_ns = call.sent_ns + 10;
    }
    const PatternTable moved_table = Patterns(moved, parents);
    const Pattern &a = table.patterns().front(), &b = moved_table.patterns().front();
    RC_ASSERT(a.id == b.id);
    RC_ASSERT(TreeOf(trace, a, 0) == TreeOf(moved, b, 0));
    // Steps and what children cover make up the latency.
    for (uint32_t n = 0; n < a.nodes.size(); ++n)
      RC_ASSERT(OwnTime(a, n) <= a.nodes[n].latency || a.nodes[n].latency < 0);
  });
}

TEST(LatencySample, QuantilesAreExactUpToAMillion) {
  LatencySample sample;
  for (Nanos i = 100; i >= 1; --i) sample.Add(i);
  EXPECT_EQ(sample.Quantile(0.5), 50);
  EXPECT_EQ(sample.Quantile(0.99), 99);
  EXPECT_EQ(sample.Quantile(1), 100);
  LatencySample one;
  one.Add(7);
  EXPECT_EQ(one.Quantile(0.5), 7);
  EXPECT_EQ(one.Quantile(0.99), 7);
}

TEST(LatencySample, AndWithinOnePercentBeyond) {
  LatencySample sample;
  std::mt19937_64 random(7);
  std::vector<Nanos> values;
  for (size_t i = 0; i < LatencySample::kExact + 200'000; ++i) {
    values.push_back(static_cast<Nanos>(random() % 1'000'000'000));
    sample.Add(values.back());
    if (i + 1 == LatencySample::kExact) {
      EXPECT_TRUE(sample.exact());
    }
  }
  EXPECT_FALSE(sample.exact());
  std::sort(values.begin(), values.end());
  for (const double q : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = static_cast<double>(
        values[static_cast<size_t>(std::ceil(q * static_cast<double>(values.size()))) - 1]);
    EXPECT_NEAR(static_cast<double>(sample.Quantile(q)), exact, 0.01 * exact) << q;
  }
}

TEST(PatternInsight, RareSlowPatternsHaveTheirOwnList) {
  Trace trace;
  std::vector<uint32_t> parents;
  for (Nanos i = 0; i < 1000; ++i) {
    const Nanos at = i * kMilli;
    parents.push_back(kRoot);
    trace.Add("A", "B", at, at + (i == 500 ? 100 : 10));
    if (i != 500 && i != 600) continue;
    parents.push_back(static_cast<uint32_t>(trace.calls.size() - 1));
    trace.Add("B", i == 500 ? "slow" : "quick", at + 1, at + 9);
  }
  const PatternTable table = Patterns(trace, parents);
  EXPECT_EQ(table.patterns().size(), 3u);
  const auto rare = FindRareSlow(table);
  ASSERT_EQ(rare.size(), 1u);
  EXPECT_EQ(trace.names.At(rare[0].pattern->nodes[1].node), "slow");
  EXPECT_EQ(rare[0].usual_ns, 10);
  EXPECT_EQ(rare[0].among, 1000u);
}

TEST(PatternInsight, APatternOfOneTimeOnlyIsShownAsSuch) {
  Trace trace;
  std::vector<uint32_t> parents;
  for (Nanos i = 0; i < 3200; ++i) {
    parents.push_back(kRoot);
    // Between 1 s and 1.2 s one path in two goes elsewhere.
    const bool phase = i >= 1000 && i < 1200 && i % 2 == 0;
    trace.Add("A", phase ? "C" : "B", i * kMilli, i * kMilli + 10);
  }
  const PatternTable table = Patterns(trace, parents);
  const PatternPhases phases(table);
  for (const Pattern& pattern : table.patterns()) {
    const auto phase = phases.Of(pattern);
    EXPECT_EQ(phase.has_value(), trace.names.At(pattern.root().node) == "C");
    if (!phase) continue;
    EXPECT_EQ(phase->count, 100u);
    EXPECT_LE(phase->from_ns, kSecond);
    EXPECT_GE(phase->until_ns, 1200 * kMilli);
  }
}

TEST(PatternInsight, PatternsMergeIntoOneGraph) {
  Trace trace;
  trace.Add("A", "B", 0, 100);
  trace.Add("B", "C", 10, 20);
  trace.Add("B", "C", 30, 40);
  trace.Add("A", "B", 1000, 1100);
  trace.Add("A", "B", 2000, 2100);
  trace.Add("B", "D", 2010, 2020);
  const MergedGraph graph = MergePatterns(Patterns(trace, {kRoot, 0, 0, kRoot, kRoot, 4}));
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(trace.names.At(graph.nodes[0].node), "B");
  EXPECT_EQ(graph.nodes[0].visits, 3u);
  EXPECT_EQ(HeldToNanos(graph.nodes[0].own), 270);
  ASSERT_EQ(graph.edges.size(), 3u);
  EXPECT_TRUE(graph.edges[0].starts_path);
  EXPECT_DOUBLE_EQ(graph.edges[0].probability, 1);
  EXPECT_EQ(graph.edges[1].calls, 2u);
  EXPECT_DOUBLE_EQ(graph.edges[1].probability, 1.0 / 3);
}

TEST(PatternInsight, TheNodeThatAddsMost) {
  Trace trace;
  trace.Add("A", "B", 0, 100);
  trace.Add("B", "C", 10, 90);
  trace.Add("C", "D", 20, 40);
  const PatternTable table = Patterns(trace, {kRoot, 0, 1});
  const Pattern& pattern = table.patterns().front();
  EXPECT_EQ(trace.names.At(pattern.nodes[SlowestNode(pattern)].node), "C");
}

}  // namespace
}  // namespace wf::paths
