#include "recorder/reader/clocks.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "recorder/reader/clock_tree.h"
#include "recorder/reader/testing/random_run.h"

namespace wf::recorder {
namespace {

Recording Read(const ScriptedRun& run) {
  auto recording = ReadRecording(FromMemory(run.Bytes()), "test.cpg");
  EXPECT_TRUE(recording.ok());
  return std::move(recording).value();
}

std::vector<uint32_t> ClockOf(const Recording& r, const Clocks& clocks, SubId sub) {
  std::vector<uint32_t> out;
  for (uint32_t t = 0; t < r.threads.size(); ++t) out.push_back(clocks.At(sub, t));
  return out;
}

RC_GTEST_PROP(ClockTree, IsAVectorOfNumbers, ()) {
  const auto entries = *rc::gen::inRange<size_t>(1, 600);
  ClockTree tree(entries);
  std::vector<ClockTree::Root> roots{ClockTree::kZero};
  std::vector<std::vector<uint32_t>> plain{std::vector<uint32_t>(entries, 0)};
  const auto steps = *rc::gen::container<std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>>(
      rc::gen::tuple(rc::gen::arbitrary<uint32_t>(), rc::gen::arbitrary<uint32_t>(),
                     rc::gen::inRange<uint32_t>(0, 5)));
  for (const auto& [a, b, value] : steps) {
    const size_t x = a % roots.size(), y = b % roots.size();
    std::vector<uint32_t> expected = plain[x];
    if (value == 0) {
      for (size_t i = 0; i < entries; ++i) expected[i] = std::max(plain[x][i], plain[y][i]);
      roots.push_back(tree.Join(roots[x], roots[y]));
      if (expected == plain[x]) RC_ASSERT(roots.back() == roots[x]);
    } else {
      expected[b % entries] = value;
      roots.push_back(tree.With(roots[x], static_cast<uint32_t>(b % entries), value));
    }
    plain.push_back(expected);
    for (uint32_t i = 0; i < entries; ++i) RC_ASSERT(tree.Get(roots.back(), i) == expected[i]);
  }
}

TEST(Clocks, CountFromOneAndFollowCreateAndJoin) {
  ScriptedRun run;
  run.Lines(R"(0 start
    0 create 1
    1 start
    1 lock m
    1 unlock m
    1 end
    0 join 1
    0 exit)");
  const Recording r = Read(run);
  const Clocks clocks = Clocks::Compute(r);
  EXPECT_EQ(ClockOf(r, clocks, r.Find(0, 0)), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(ClockOf(r, clocks, r.Find(0, 1)), (std::vector<uint32_t>{2, 0}));
  EXPECT_EQ(ClockOf(r, clocks, r.Find(1, 0)), (std::vector<uint32_t>{1, 1}));
  EXPECT_EQ(ClockOf(r, clocks, r.Find(1, 2)), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(ClockOf(r, clocks, r.Find(0, 2)), (std::vector<uint32_t>{3, 3}));
  EXPECT_TRUE(clocks.Concurrent(r.Find(0, 1), r.Find(1, 0)));
  EXPECT_EQ(clocks.disorder(), 0u);
}

TEST(Clocks, AReadLockAcquiresWritersOnly) {
  ScriptedRun run;
  run.Lines(R"(0 start
    0 create 1
    1 start
    0 create 2
    2 start
    0 wrlock l
    0 rwunlock l
    1 rdlock l
    1 rwunlock l
    2 rdlock l
    2 rwunlock l
    0 wrlock l
    0 rwunlock l)");
  const Recording r = Read(run);
  const Clocks clocks = Clocks::Compute(r);
  EXPECT_EQ(clocks.At(r.Find(2, 1), 0), 4u);  // the writer's release was by 0.3
  EXPECT_EQ(clocks.At(r.Find(2, 1), 1), 0u);  // the reader's is not acquired
  EXPECT_EQ(clocks.At(r.Find(0, 5), 1), 2u);  // but by a writer
  EXPECT_EQ(clocks.At(r.Find(0, 5), 2), 2u);
}

TEST(Clocks, ATimedOutWaitAcquiresTheMutexOnly) {
  ScriptedRun run;
  run.Lines(R"(0 start
    0 create 1
    1 start
    0 lock m
    0 wait c m
    1 signal c
    0 timedout
    0 wait c m
    0 woken)");
  const Recording r = Read(run);
  const Clocks clocks = Clocks::Compute(r);
  EXPECT_EQ(clocks.At(r.Find(0, 3), 1), 0u);
  EXPECT_EQ(clocks.At(r.Find(0, 4), 1), 1u);
  EXPECT_EQ(r.subs[r.Find(0, 2)].op, Op::kCondTimedwait);
  EXPECT_EQ(r.subs[r.Find(0, 2)].wait_ns, 20);
}

RC_GTEST_PROP(Clocks, AreTheOrderOfTheRun, (const std::vector<uint32_t>& choices)) {
  const RandomRun made = RandomRunMaker().Make(choices);
  const Recording r = Read(made.run);
  const NaiveOrder naive(made.run);
  const Clocks clocks = Clocks::Compute(r);
  RC_ASSERT(r.subs.size() == naive.count());
  RC_ASSERT(clocks.disorder() == 0u);
  for (SubId a = 0; a < r.subs.size(); ++a) {
    for (SubId b = 0; b < r.subs.size(); ++b) {
      RC_ASSERT(clocks.Before(a, b) == naive.Before(a, b));
      // The contract says it twice: by one entry, and by all.
      bool at_most = true;
      for (uint32_t t = 0; t < r.threads.size(); ++t)
        at_most = at_most && clocks.At(a, t) <= clocks.At(b, t);
      RC_ASSERT((a != b && at_most) == naive.Before(a, b));
      if (naive.Before(a, b)) RC_ASSERT(clocks.Position(a) < clocks.Position(b));
    }
    for (uint32_t t = 0; t < r.threads.size(); ++t) {
      uint32_t known = 0;
      for (uint32_t i = 0; i < r.threads[t].subs.size(); ++i) {
        const SubId other = r.Find(t, i);
        known += other == a || naive.Before(other, a);
      }
      RC_ASSERT(clocks.At(a, t) == known);
    }
  }
}

TEST(Clocks, ActionsInACircleAreCountedAndStayAcyclic) {
  // Thread 0 acquires a before it releases b; thread 1 acquires b before it releases a; the numbers say that each
  // release came first.
  ScriptedRun run(kSchedule);
  run.Lines(R"(0 start
    0 create 1
    1 start)");
  std::string bytes = run.Bytes();
  const auto cut = [](uint32_t acquired, uint32_t released) {
    std::string out;
    for (const Action action :
         {Action{acquired, Role::kAcquireAll, 0, 2}, Action{released, Role::kReleaseAll, 0, 1}}) {
      Cut record{};
      record.head = {RecordKind::kCut, static_cast<uint16_t>(Op::kMutexLock),
                     sizeof(Cut) + sizeof(Action)};
      record.actions = 1;
      out.append(reinterpret_cast<const char*>(&record), sizeof record);
      out.append(reinterpret_cast<const char*>(&action), sizeof action);
    }
    return out;
  };
  bytes += ScriptedRun::ChunkOf(ChunkKind::kThread, 0, cut(50, 51), false);
  bytes += ScriptedRun::ChunkOf(ChunkKind::kThread, 1, cut(51, 50), false);
  const auto r = ReadRecording(FromMemory(bytes), "test.cpg");
  ASSERT_TRUE(r.ok());
  const Clocks clocks = Clocks::Compute(*r);
  EXPECT_GT(clocks.disorder(), 0u);
  for (SubId a = 0; a < r->subs.size(); ++a) {
    for (SubId b = 0; b < r->subs.size(); ++b)
      EXPECT_FALSE(clocks.Before(a, b) && clocks.Before(b, a));
  }
}

TEST(EmptyCuts, OnceThatRanAndAddedNothingLeavesNoCut) {
  ScriptedRun run;
  run.Lines(R"(0 start
    0 create 1
    1 start
    1 once o ran
    0 writes 7
    0 once o seen
    0 writes 8
    0 input stdin 0 4
    0 once o seen
    0 reads 9
    0 lock m)");
  const Recording r = Read(run);
  // The first adds thread 1's run; the second adds nothing.
  ASSERT_EQ(r.threads[0].subs.size(), 4u);
  const SubComputation& joined = r.subs[r.Find(0, 2)];
  EXPECT_EQ(joined.op, Op::kMutexLock);
  EXPECT_EQ(joined.written_index, 2u);
  EXPECT_EQ(r.subs[r.Find(0, 3)].written_index, 4u);
  ASSERT_EQ(joined.pages.size(), 2u);
  EXPECT_EQ(r.pages[joined.pages.begin].first, 8u);
  EXPECT_TRUE(r.pages[joined.pages.begin].written);
  EXPECT_EQ(r.pages[joined.pages.begin + 1].first, 9u);
  EXPECT_FALSE(r.pages[joined.pages.begin + 1].written);
  ASSERT_EQ(joined.transfers.size(), 1u);
  EXPECT_EQ(r.transfers[joined.transfers.begin].sub, r.Find(0, 2));
  const Clocks clocks = Clocks::Compute(r);
  EXPECT_EQ(clocks.At(r.Find(0, 2), 1), 1u);
}

}  // namespace
}  // namespace wf::recorder
