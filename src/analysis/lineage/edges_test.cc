#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "analysis/lineage/lineage_test_support.h"
#include "analysis/lineage/order_path.h"
#include "analysis/lineage/races.h"

namespace wf::lineage {
namespace {

using recorder::NaiveOrder;
using recorder::RandomRun;
using recorder::RandomRunMaker;
using recorder::SubId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Figure 1 of the paper: two threads, x and y, one lock. Which thread locked first decides what y is made of.
constexpr const char* kFigureOneBegin = R"(0 start
  0 create 1
  1 start
  0 create 2
  2 start
)";
constexpr const char* kFirst = R"(1 lock m
  1 reads 11
  1 writes 10
  1 unlock m
)";
constexpr const char* kSecond = R"(2 lock m
  2 reads 10
  2 writes 11
  2 unlock m
)";

TEST(FigureOne, TheGraphShowsTheOrderOfTheLock) {
  const Lab first = Lab::Running(std::string(kFigureOneBegin) + kFirst + kSecond);
  EXPECT_THAT(first.Sync(), ElementsAre("0.0 -> 1.0 by 1", "0.1 -> 2.0 by 2", "1.1 -> 2.1 by 3"));
  EXPECT_THAT(first.Data(), ElementsAre("1.1 -> 2.1 over 1"));
  const Lab second = Lab::Running(std::string(kFigureOneBegin) + kSecond + kFirst);
  EXPECT_THAT(second.Sync(), ElementsAre("0.0 -> 1.0 by 1", "0.1 -> 2.0 by 2", "2.1 -> 1.1 by 3"));
  EXPECT_THAT(second.Data(), ElementsAre("2.1 -> 1.1 over 1"));
}

TEST(SyncEdges, AMutexHandsOverFromItsLastHolderOnly) {
  const Lab lab = Lab::Running(std::string(kFigureOneBegin) + R"(0 lock m
    0 unlock m
    1 lock m
    1 unlock m
    2 lock m
    2 unlock m
    2 lock m
    2 unlock m)");
  EXPECT_THAT(lab.Sync(), ElementsAre("0.0 -> 1.0 by 1", "0.1 -> 2.0 by 2", "0.3 -> 1.1 by 3",
                                      "1.1 -> 2.1 by 3"));
}

TEST(SyncEdges, EverySignalNotYetSeenHasAnEdge) {
  const Lab lab = Lab::Running(std::string(kFigureOneBegin) + R"(1 signal c
    2 signal c
    2 signal c
    0 lock m
    0 wait c m
    0 woken
    1 signal c
    0 wait c m
    0 woken)");
  EXPECT_THAT(lab.Sync(), ElementsAre("0.0 -> 1.0 by 1", "0.1 -> 2.0 by 2", "1.0 -> 0.4 by 3",
                                      "1.1 -> 0.5 by 3", "2.1 -> 0.4 by 3"));
}

TEST(SyncEdges, BarriersJoinTheirRoundOnly) {
  const Lab lab = Lab::Running(std::string(kFigureOneBegin) + R"(1 arrive b 2
    2 arrive b 2
    1 leave b
    2 leave b
    1 arrive b 2
    0 arrive b 2
    0 leave b
    1 leave b)");
  EXPECT_THAT(lab.Sync(), ElementsAre("0.0 -> 1.0 by 1", "0.1 -> 2.0 by 2", "0.2 -> 1.2 by 3",
                                      "1.0 -> 2.1 by 3", "1.1 -> 0.3 by 3", "2.0 -> 1.1 by 3"));
}

TEST(SyncEdges, JoinComesFromTheEndNotFromTheCreation) {
  const Lab lab = Lab::Running(R"(0 start
    0 create 1
    1 start
    0 create 2
    2 start
    1 end
    2 join 1)");
  EXPECT_THAT(lab.Sync(), ElementsAre("0.0 -> 1.0 by 1", "0.1 -> 2.0 by 2", "1.0 -> 2.1 by 1"));
}

RC_GTEST_PROP(SyncEdges, WithProgramOrderAreTheOrderOfTheClocks,
              (const std::vector<uint32_t>& choices)) {
  const RandomRun made = RandomRunMaker().Make(choices);
  const Lab lab(made.run);
  const NaiveOrder naive(made.run);
  const size_t n = lab.r.subs.size();
  std::vector<std::vector<bool>> reach(n, std::vector<bool>(n, false));
  for (SubId s = 1; s < n; ++s) {
    if (lab.r.subs[s].index > 0) reach[s - 1][s] = true;
  }
  const std::vector<SyncEdge> edges = SyncEdges(lab.r);
  std::set<std::tuple<SubId, SubId, uint32_t>> once;
  for (const SyncEdge& edge : edges) {
    RC_ASSERT(lab.r.subs[edge.from].thread != lab.r.subs[edge.to].thread);
    RC_ASSERT(once.insert({edge.from, edge.to, edge.object}).second);
    reach[edge.from][edge.to] = true;
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; reach[i][k] && j < n; ++j) {
        if (reach[k][j]) reach[i][j] = true;
      }
    }
  }
  for (SubId a = 0; a < n; ++a) {
    RC_ASSERT(!reach[a][a]);  // no cycles
    for (SubId b = 0; b < n; ++b) RC_ASSERT(reach[a][b] == naive.Before(a, b));
  }
  // No edge follows from others of its object alone.
  for (const SyncEdge& left_out : edges) {
    std::set<SubId> reached{left_out.from};
    std::vector<SubId> queue{left_out.from};
    while (!queue.empty()) {
      const SubId at = queue.back();
      queue.pop_back();
      const auto step = [&](SubId to) {
        if (reached.insert(to).second) queue.push_back(to);
      };
      if (at + 1 < n && lab.r.subs[at + 1].index > 0) step(at + 1);
      for (const SyncEdge& edge : edges) {
        if (edge.from == at && edge.object == left_out.object && !(edge == left_out)) step(edge.to);
      }
    }
    RC_ASSERT(reached.count(left_out.to) == 0);
  }
}

RC_GTEST_PROP(OrderPath, LeadsAlongEdges, (const std::vector<uint32_t>& choices)) {
  const RandomRun made = RandomRunMaker().Make(choices);
  const Lab lab(made.run);
  const std::vector<SyncEdge> edges = SyncEdges(lab.r);
  for (SubId a = 0; a < lab.r.subs.size(); ++a) {
    for (SubId b = 0; b < lab.r.subs.size(); ++b) {
      const Relation relation = RelationOf(lab.clocks, a, b);
      RC_ASSERT((relation == Relation::kBefore) == lab.clocks.Before(a, b));
      RC_ASSERT((relation == Relation::kAfter) == lab.clocks.Before(b, a));
      RC_ASSERT((relation == Relation::kSame) == (a == b));
      if (relation != Relation::kBefore) continue;
      const std::vector<SubId> path = PathBetween(lab.r, lab.clocks, edges, a, b);
      RC_ASSERT(path.size() >= 2 && path.front() == a && path.back() == b);
      for (size_t i = 1; i < path.size(); ++i) {
        bool edge = path[i] == path[i - 1] + 1 && lab.r.subs[path[i]].index > 0;
        for (const SyncEdge& one : edges)
          edge = edge || (one.from == path[i - 1] && one.to == path[i]);
        RC_ASSERT(edge);
      }
    }
  }
}

// Which pages each sub-computation touched, as the test said.
struct Touched {
  explicit Touched(const Lab& lab, const RandomRun& made) : of(lab.r.subs.size()) {
    for (const auto& [key, pages] : made.pages) of[lab.r.Find(key.first, key.second)] = pages;
  }
  bool Reads(SubId s, uint64_t page) const { return of[s].count(page) > 0; }
  bool Writes(SubId s, uint64_t page) const { return Reads(s, page) && of[s].at(page); }
  std::vector<std::map<uint64_t, bool>> of;
};

RC_GTEST_PROP(DataEdges, AreUpdateUse, (const std::vector<uint32_t>& choices)) {
  const RandomRun made = RandomRunMaker().Make(choices);
  const Lab lab(made.run);
  const NaiveOrder naive(made.run);
  const Touched touched(lab, made);
  std::map<std::pair<SubId, SubId>, std::set<uint64_t>> expected;
  const auto n = static_cast<SubId>(lab.r.subs.size());
  for (SubId a = 0; a < n; ++a) {
    for (SubId b = 0; b < n; ++b) {
      if (!naive.Before(a, b)) continue;
      for (const auto& [page, written] : touched.of[a]) {
        if (!written || !touched.Reads(b, page)) continue;
        bool between = false;
        for (SubId c = 0; c < n; ++c)
          between =
              between || (naive.Before(a, c) && naive.Before(c, b) && touched.Writes(c, page));
        if (!between) expected[{a, b}].insert(page);
      }
    }
  }
  const DataEdges found = ComputeDataEdges(lab.flow, EdgePages::kList);
  std::map<std::pair<SubId, SubId>, std::set<uint64_t>> pages;
  for (const DataEdge& edge : found.edges) {
    std::set<uint64_t>& own = pages[{edge.from, edge.to}];
    for (uint32_t i = edge.spans.begin; i < edge.spans.end; ++i) {
      const Span& span = lab.pages.spans()[found.spans[i]];
      for (uint64_t p = 0; p < span.count; ++p) own.insert(span.first + p);
    }
    RC_ASSERT(own.size() == edge.pages);
  }
  RC_ASSERT(pages == expected);
  RC_ASSERT(CountDataEdges(lab.flow) == expected.size());
}

RC_GTEST_PROP(Races, AreConcurrentTouchesWithAWrite, (const std::vector<uint32_t>& choices)) {
  const RandomRun made = RandomRunMaker().Make(choices);
  const Lab lab(made.run);
  const NaiveOrder naive(made.run);
  const Touched touched(lab, made);
  struct Expected {
    SubId a = 0, b = 0;
    uint64_t pairs = 0;
  };
  std::map<std::tuple<uint64_t, uint32_t, uint32_t>, Expected> expected;
  const auto n = static_cast<SubId>(lab.r.subs.size());
  for (SubId a = 0; a < n; ++a) {
    for (SubId b = 0; b < n; ++b) {
      if (lab.r.subs[a].thread >= lab.r.subs[b].thread || !naive.Concurrent(a, b)) continue;
      for (const auto& [page, written] : touched.of[a]) {
        if (!touched.Reads(b, page) || (!written && !touched.Writes(b, page))) continue;
        Expected& race = expected[{page, lab.r.subs[a].thread, lab.r.subs[b].thread}];
        if (race.pairs++ == 0) race.a = a, race.b = b;
      }
    }
  }
  const Races found = FindRaces(lab.r, lab.clocks, lab.pages, 1000);
  RC_ASSERT(found.all);
  RC_ASSERT(found.races.size() == expected.size());
  auto it = expected.begin();
  for (const Race& race : found.races) {
    const auto& [key, own] = *it++;
    RC_ASSERT(race.page == std::get<0>(key));
    RC_ASSERT(race.a == own.a);
    RC_ASSERT(race.b == own.b);
    RC_ASSERT(race.pairs == own.pairs);
    RC_ASSERT(race.a_writes == touched.Writes(race.a, race.page));
    RC_ASSERT(race.b_writes == touched.Writes(race.b, race.page));
  }
}

TEST(PageIndex, PagesSideBySideThatAreAlikeAreOneSpan) {
  const Lab lab = Lab::Running(R"(0 start
    0 writes 1000-1999
    0 lock m
    0 reads 1500-2499
    0 unlock m)");
  ASSERT_EQ(lab.pages.spans().size(), 3u);
  EXPECT_THAT(lab.Data(), ElementsAre("0.0 -> 0.1 over 500"));
  EXPECT_EQ(lab.pages.SpanOf(1499), 0u);
  EXPECT_EQ(lab.pages.SpanOf(2500), recorder::kNone);
  EXPECT_EQ(lab.pages.SpanOf(999), recorder::kNone);
}

}  // namespace
}  // namespace wf::lineage
