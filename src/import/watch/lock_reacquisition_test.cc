#include "import/watch/lock_reacquisition.h"

#include <gtest/gtest.h>

namespace wf::watch {
namespace {

LockHolding Holding(uint32_t thread, uint64_t requested, uint64_t acquired, uint64_t released) {
  LockHolding holding;
  holding.address = 0x1000;
  holding.thread = thread;
  holding.requested = requested;
  holding.acquired = acquired;
  holding.released = released;
  return holding;
}
LockHolding AfterCondition(uint32_t thread, uint64_t since, uint64_t released) {
  LockHolding holding = Holding(thread, since, 0, released);
  holding.after_condition = true;
  return holding;
}

TEST(LockReacquisition, HeldSinceTheNextOneAsked) {
  LockReacquisition reacquisition;
  std::vector<LockHolding> out;
  reacquisition.Add(Holding(1, 10, 10, 20), out);
  // Waits since 5, has the mutex again some time before 100.
  reacquisition.Add(AfterCondition(2, 5, 100), out);
  EXPECT_EQ(out.size(), 1u) << "in doubt until the next";
  reacquisition.Add(Holding(3, 60, 100, 110), out);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[1].thread, 2u);
  EXPECT_EQ(out[1].acquired, 60u);
  EXPECT_EQ(out[1].requested, 60u);
  EXPECT_EQ(out[1].released, 100u);
  EXPECT_EQ(reacquisition.bounded(), 1u);
}

TEST(LockReacquisition, NotBeforeTheLastRelease) {
  LockReacquisition reacquisition;
  std::vector<LockHolding> out;
  reacquisition.Add(Holding(1, 10, 10, 80), out);
  reacquisition.Add(AfterCondition(2, 5, 100), out);
  reacquisition.Add(Holding(3, 60, 100, 110), out);  // asked while thread 1 had it
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[1].acquired, 80u);
}

TEST(LockReacquisition, WhatNobodyWaitedForIsCounted) {
  LockReacquisition reacquisition;
  std::vector<LockHolding> out;
  reacquisition.Add(AfterCondition(2, 5, 100), out);
  reacquisition.Add(Holding(3, 200, 200, 210), out);
  reacquisition.Add(AfterCondition(2, 100, 300), out);
  reacquisition.Add(AfterCondition(2, 300, 400), out);
  reacquisition.Finish(out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(reacquisition.unneeded(), 3u);
}

TEST(LockReacquisition, LocksAreApart) {
  LockReacquisition reacquisition;
  std::vector<LockHolding> out;
  reacquisition.Add(AfterCondition(2, 5, 100), out);
  LockHolding other = Holding(3, 60, 100, 110);
  other.address = 0x2000;
  reacquisition.Add(other, out);
  EXPECT_EQ(out.size(), 1u);
}

}  // namespace
}  // namespace wf::watch
