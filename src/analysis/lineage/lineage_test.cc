#include "analysis/lineage/lineage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "analysis/lineage/consistent_cut.h"
#include "analysis/lineage/lineage_test_support.h"
#include "analysis/lineage/memory_layout.h"

namespace wf::lineage {
namespace {

using recorder::NaiveOrder;
using recorder::RandomRun;
using recorder::RandomRunMaker;
using recorder::SubId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Lineage, FollowsDataEdgesToTheInputsTheyBegan) {
  const Lab lab = Lab::Running(R"(0 start
    0 input /in/a 0 10
    0 writes 5
    0 create 1
    1 start
    1 input /in/b 0 20
    1 writes 6
    1 end
    0 reads 5
    0 input /in/c 0 30
    0 output stdout 0 7
    0 input /in/d 0 40
    0 output stdout 7 9
    0 join 1
    0 reads 6
    0 output /out 0 3)");
  // /in/d is read after the first seven bytes were written.
  EXPECT_THAT(lab.Of("stdout", Steps::kAlsoUnordered, RangeSet({0, 7})),
              ElementsAre("0.0", "0.1", "/in/a 0-10", "/in/c 0-30"));
  EXPECT_THAT(lab.Of("stdout"),
              ElementsAre("0.0", "0.1", "/in/a 0-10", "/in/c 0-30", "/in/d 0-40"));
  EXPECT_THAT(lab.Of("/out"), ElementsAre("0.2", "1.0", "/in/b 0-20"));
  EXPECT_THAT(lab.From("/in/a"), ElementsAre("0.0", "0.1", "stdout 0-9"));
  EXPECT_THAT(lab.From("/in/b"), ElementsAre("0.2", "1.0", "/out 0-3"));
  EXPECT_THAT(lab.From("/in/d"), ElementsAre("0.1", "stdout 7-9"));
}

TEST(Lineage, StepsToConcurrentWritersAreUnordered) {
  const Lab lab = Lab::Running(R"(0 start
    0 create 1
    1 start
    1 input stdin 0 4
    1 writes 9
    0 reads 9
    0 output stdout 0 1
    1 end)");
  EXPECT_THAT(lab.Of("stdout"), ElementsAre("0.1", "1.0 unordered", "stdin 0-4 unordered"));
  EXPECT_THAT(lab.Of("stdout", Steps::kOrderedOnly), ElementsAre("0.1"));
  EXPECT_THAT(lab.From("stdin"), ElementsAre("0.1 unordered", "1.0", "stdout 0-1 unordered"));
  EXPECT_THAT(lab.From("stdin", Steps::kOrderedOnly), ElementsAre("1.0"));
}

TEST(Lineage, AWriterThatBeganTooLateIsNone) {
  const Lab lab = Lab::Running(R"(0 start
    0 create 1
    1 start
    0 reads 9
    0 output stdout 0 1
    0 fork
    1 lock m
    1 input stdin 0 4
    1 writes 9
    1 end)");
  EXPECT_THAT(lab.Of("stdout"), ElementsAre("0.1"));
}

TEST(Lineage, WhatWasWrittenToAPipeComesFromItsWriter) {
  const Lab lab = Lab::Running(R"(0 start
    0 create 1
    1 start
    1 input /secret 0 8
    1 output pipe:3 0 8 77
    1 input /later 0 8
    0 input pipe:3 0 6 77
    0 output stdout 0 6)");
  EXPECT_THAT(lab.Of("stdout"), ElementsAre("0.1", "1.0", "/secret 0-8"));
  EXPECT_THAT(lab.From("/secret"), ElementsAre("0.1", "1.0", "pipe:3 6-8", "stdout 0-6"));
  EXPECT_THAT(lab.From("/later"), ElementsAre("1.0"));
}

TEST(Lineage, WhatGoesOutByASocketOrATerminalDoesNotComeBackByIt) {
  const Lab lab = Lab::Running(R"(0 start
    0 output stdout 0 5 9
    0 input stdin 0 5 9
    0 output socket:1 0 5 8
    0 input socket:1 0 5 8
    0 output /dev/tty 0 5 7
    0 input /dev/tty 0 5 7
    0 fork
    0 input socket:2 0 3 8
    0 output stderr 0 3)");
  EXPECT_THAT(lab.From("stdin"),
              ElementsAre("0.0", "0.1", "/dev/tty 0-5", "socket:1 3-5", "stderr 0-3"));
  EXPECT_THAT(lab.Of("socket:1"), ElementsAre("0.0", "stdin 0-5"));
  EXPECT_THAT(lab.Of("stderr"), ElementsAre("0.0", "0.1", "stdin 0-5"));
}

TEST(Lineage, OfAFileReadBackTheLastWriterCounts) {
  const Lab lab = Lab::Running(R"(0 start
    0 input /a 0 4
    0 output /tmp/f 0 4 5
    0 fork
    0 input /b 0 4
    0 output /tmp/f 2 8 5
    0 fork
    0 input /tmp/f 0 10 5
    0 output stdout 0 10
    0 fork
    0 input /tmp/f 3 4 5
    0 output stderr 0 1)");
  EXPECT_THAT(lab.Of("stdout"),
              ElementsAre("0.0", "0.1", "0.2", "/a 0-4", "/b 0-4", "/tmp/f 8-10"));
  EXPECT_THAT(lab.Of("stderr"), ElementsAre("0.1", "0.3", "/b 0-4"));
  EXPECT_THAT(lab.From("/a"), ElementsAre("0.0", "0.2", "/tmp/f 0-4", "stdout 0-10"));
}

TEST(Lineage, MappedFilesAreReadByTouchingTheirPages) {
  const Lab lab = Lab::Running(R"(0 start
    0 reads 50
    0 lock m
    0 mapin /data 0 10000 5 50
    0 fork
    0 reads 51-52
    0 output stdout 0 1)");
  EXPECT_THAT(lab.Of("stdout"), ElementsAre("0.2", "/data 4096-10000"));
  EXPECT_THAT(lab.From("/data", Steps::kAlsoUnordered, RangeSet({8000, 8001})),
              ElementsAre("0.2", "stdout 0-1"));
  EXPECT_THAT(lab.From("/data", Steps::kAlsoUnordered, RangeSet({0, 4096})), IsEmpty());
}

TEST(Lineage, OfMemoryAtTheEndAndEarlier) {
  const Lab lab = Lab::Running(R"(0 start
    0 input /a 0 1
    0 writes 9
    0 fork
    0 fork
    0 input /b 0 1
    0 writes 9
    0 fork)");
  const auto at = [&](const std::string& name) {
    return lab.Text(lab.finder.OfPage(9, name.empty() ? recorder::kNone : lab.Sub(name),
                                      Steps::kAlsoUnordered));
  };
  EXPECT_THAT(at("0.0"), ElementsAre("0.0", "/a 0-1"));
  EXPECT_THAT(at("0.1"), ElementsAre("0.0", "/a 0-1"));
  EXPECT_THAT(at("0.2"), ElementsAre("0.0", "0.2", "/a 0-1", "/b 0-1"));
  EXPECT_THAT(at(""), ElementsAre("0.0", "0.2", "/a 0-1", "/b 0-1"));
}

// By the definition: what wrote it, all that reach that by data edges, and by steps to concurrent writers in time.
std::map<SubId, bool> NaiveLineage(const Lab& lab, SubId root) {
  std::set<std::pair<SubId, SubId>> data;
  for (const DataEdge& edge : ComputeDataEdges(lab.flow, EdgePages::kCount).edges)
    data.insert({edge.from, edge.to});
  const auto n = static_cast<SubId>(lab.r.subs.size());
  const auto writes = [&](SubId s, uint64_t page, bool any) {
    const recorder::Slice runs = lab.r.subs[s].pages;
    for (uint32_t i = runs.begin; i < runs.end; ++i) {
      const recorder::PageRuns& run = lab.r.pages[i];
      if (page >= run.first && page < run.first + run.count && (any || run.written)) return true;
    }
    return false;
  };
  std::map<SubId, bool> found;  // unordered
  for (const bool unordered : {false, true}) {
    for (bool more = true; more;) {
      more = false;
      if (found.emplace(root, false).second) more = true;
      for (SubId b = 0; b < n; ++b) {
        if (found.count(b) == 0) continue;
        for (SubId a = 0; a < n; ++a) {
          bool step = data.count({a, b}) > 0;
          for (uint64_t page = 100; unordered && !step && page < 105; ++page) {
            step = lab.clocks.Concurrent(a, b) && writes(a, page, false) && writes(b, page, true) &&
                   lab.r.subs[a].start_ns < lab.r.subs[b].end_ns;
          }
          if (step && found.emplace(a, unordered).second) more = true;
        }
      }
    }
  }
  return found;
}

RC_GTEST_PROP(Lineage, IsWhatItsDefinitionSays,
              (const std::vector<uint32_t>& choices, uint32_t which)) {
  const RandomRun made = RandomRunMaker().Make(choices);
  const Lab lab(made.run);
  const SubId root = which % static_cast<SubId>(lab.r.subs.size());
  std::map<SubId, bool> found;
  for (const LineageSub& sub : lab.finder.OfSub(root, Steps::kAlsoUnordered).subs)
    found[sub.sub] = sub.unordered;
  RC_ASSERT(found == NaiveLineage(lab, root));
  std::set<SubId> ordered;
  for (const LineageSub& sub : lab.finder.OfSub(root, Steps::kOrderedOnly).subs)
    ordered.insert(sub.sub);
  for (const auto& [sub, unordered] : found) RC_ASSERT(ordered.count(sub) == (unordered ? 0u : 1u));
}

// What an input reaches is what has it as a source.
RC_GTEST_PROP(Lineage, ForthAndBackAgree, (const std::vector<uint32_t>& choices)) {
  // Every sub-computation that ends by fork has an input and an output of its own.
  RandomRun made = RandomRunMaker().Make(choices);
  for (uint32_t t = 0; t < made.run.threads(); ++t) {
    made.run.Step(t, {"input", "/in/" + std::to_string(t), "0", "1"});
    made.run.Step(t, {"output", "/out/" + std::to_string(t), "0", "1"});
  }
  const Lab lab(made.run);
  for (uint32_t i = 0; i < made.run.threads(); ++i) {
    const auto inputs = lab.finder.FindInputs("/in/" + std::to_string(i), {});
    if (inputs.empty()) continue;  // of a thread that had ended
    std::map<std::string, bool> reached;
    for (const LineageEnd& sink : lab.finder.FromInputs(inputs, Steps::kAlsoUnordered).ends)
      reached[sink.name] = sink.unordered;
    std::map<std::string, bool> expected;
    for (uint32_t o = 0; o < made.run.threads(); ++o) {
      const std::string name = "/out/" + std::to_string(o);
      const auto outputs = lab.finder.FindOutputs(name, {});
      for (const LineageEnd& source : lab.finder.OfOutputs(outputs, Steps::kAlsoUnordered).ends) {
        if (source.name == "/in/" + std::to_string(i)) expected[name] = source.unordered;
      }
    }
    RC_ASSERT(reached == expected);
  }
}

RC_GTEST_PROP(ConsistentCut, IsTheLargestWithin,
              (const std::vector<uint32_t>& choices, const std::vector<uint8_t>& asked)) {
  const RandomRun made = RandomRunMaker().Make(choices);
  const Lab lab(made.run);
  Cut cut;
  for (size_t t = 0; t < lab.r.threads.size(); ++t)
    cut.push_back(t < asked.size() ? asked[t] % (lab.r.threads[t].subs.size() + 1) : 0);
  const Cut found = LargestConsistent(lab.r, lab.clocks, cut);
  const auto consistent = [&](const Cut& one) {
    for (uint32_t t = 0; t < one.size(); ++t) {
      for (uint32_t i = 0; i < one[t]; ++i) {
        for (uint32_t u = 0; u < one.size(); ++u) {
          if (lab.clocks.At(lab.r.Find(t, i), u) > one[u]) return false;
        }
      }
    }
    return true;
  };
  RC_ASSERT(consistent(found));
  RC_ASSERT(IsConsistent(lab.r, lab.clocks, cut) == consistent(cut));
  for (size_t t = 0; t < cut.size(); ++t) {
    RC_ASSERT(found[t] <= cut[t]);
    if (found[t] == cut[t]) continue;
    // The next one of the thread needs something that is not within.
    const SubId next = lab.r.Find(static_cast<uint32_t>(t), found[t]);
    bool needs = false;
    for (uint32_t u = 0; u < cut.size(); ++u)
      needs = needs || (u != t && lab.clocks.At(next, u) > found[u]);
    RC_ASSERT(needs);
  }
  const recorder::Recording part = Restricted(lab.r, found);
  const recorder::Clocks clocks = recorder::Clocks::Compute(part);
  for (uint32_t t = 0; t < found.size(); ++t) {
    RC_ASSERT(part.threads[t].subs.size() == found[t]);
    for (uint32_t i = 0; i < found[t]; ++i) {
      for (uint32_t u = 0; u < found.size(); ++u)
        RC_ASSERT(clocks.At(part.Find(t, i), u) == lab.clocks.At(lab.r.Find(t, i), u));
    }
  }
}

TEST(MemoryLayout, ThreadsThatShareGoTogether) {
  // 0 and 3 share pages 10-19, 1 and 2 share 20-29; placed in order, 0 and 2 would be on one node.
  std::string script = "0 start\n";
  for (int t = 1; t < 4; ++t)
    script += "0 create " + std::to_string(t) + "\n" + std::to_string(t) + " start\n";
  for (int i = 0; i < 5; ++i)
    script +=
        "0 writes 10-19\n0 fork\n3 writes 10-19\n3 fork\n1 writes 20-29\n1 fork\n2 writes 20-29\n2 "
        "fork\n";
  const Lab lab = Lab::Running(script);
  const auto matrix = PageMatrix(lab.r, lab.pages);
  ASSERT_EQ(matrix.size(), 2u);
  EXPECT_EQ(matrix[0].uses.size(), 2u);
  EXPECT_EQ(matrix[0].uses[0].reading, 5u);
  const MemoryLayout layout = ProposeLayout(matrix, 4, Distances::Uniform(2));
  EXPECT_EQ(layout.proposed.threads[0], layout.proposed.threads[3]);
  EXPECT_EQ(layout.proposed.threads[1], layout.proposed.threads[2]);
  EXPECT_NE(layout.proposed.threads[0], layout.proposed.threads[1]);
  EXPECT_EQ(layout.proposed_cost.remote_share, 0);
  EXPECT_EQ(layout.first_touch.remote_share, 0.5);
  EXPECT_EQ(layout.interleaved.remote_share, 0.5);
  EXPECT_FALSE(Distances::Parse("10 20\n20", 2, "d").ok());
  EXPECT_FALSE(Distances::Parse("10 20\n20 x", 2, "d").ok());
  EXPECT_FALSE(Distances::Parse("10 20\n", 2, "d").ok());
  EXPECT_EQ(Distances::Parse("10 21\n22 10\n", 2, "d")->At(1, 0), 22);
}

RC_GTEST_PROP(MemoryLayout, IsNeverWorse, (const std::vector<uint32_t>& choices)) {
  const RandomRun made = RandomRunMaker().Make(choices);
  const Lab lab(made.run);
  const auto matrix = PageMatrix(lab.r, lab.pages);
  const auto nodes = *rc::gen::inRange<uint32_t>(1, 4);
  const MemoryLayout layout =
      ProposeLayout(matrix, lab.r.threads.size(), Distances::Uniform(nodes));
  RC_ASSERT(layout.proposed_cost.remote_share <= layout.first_touch.remote_share + 1e-9);
  RC_ASSERT(layout.proposed_cost.remote_share <= layout.interleaved.remote_share + 1e-9);
  std::vector<size_t> on(nodes);
  for (const uint32_t node : layout.proposed.threads) ++on.at(node);
  for (const size_t count : on) RC_ASSERT(count <= (lab.r.threads.size() + nodes - 1) / nodes);
}

}  // namespace
}  // namespace wf::lineage
