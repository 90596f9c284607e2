// What the scribe finds waiting at the program's first process, here: this one.
#include "recorder/preload/outside_signals.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

namespace wf::recorder {
namespace {

class OutsideSignals : public ::testing::Test {
 protected:
  void SetUp() override {
    sigemptyset(&watched_);
    sigaddset(&watched_, SIGUSR1);
    sigaddset(&watched_, kControlSignal);
    sigprocmask(SIG_BLOCK, &watched_, nullptr);
    void* memory = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    region_ = static_cast<Region*>(memory);
    region_->signals_of.store(static_cast<uint32_t>(getpid()));
  }
  void TearDown() override {
    while (Take() != 0) {
    }
    sigprocmask(SIG_UNBLOCK, &watched_, nullptr);
    munmap(region_, sizeof(Region));
  }
  int Take() {
    const timespec at_once = {};
    const int signal = sigtimedwait(&watched_, nullptr, &at_once);
    return signal < 0 ? 0 : signal;
  }

  Region* region_ = nullptr;
  sigset_t watched_;
};

TEST_F(OutsideSignals, WhatWaitsIsNotedAndTheProcessIsTold) {
  kill(getpid(), SIGUSR1);
  LookForOutsideSignals(region_);
  EXPECT_EQ(region_->signals_waiting.load(), uint64_t{1} << (SIGUSR1 - 1));
  EXPECT_EQ(Take(), SIGUSR1);
  EXPECT_EQ(Take(), kControlSignal);
}

// It waits while one of the recorder's handlers runs; passed on as the program's it would end it.
TEST_F(OutsideSignals, TheControlSignalIsNotThePrograms) {
  kill(getpid(), kControlSignal);
  LookForOutsideSignals(region_);
  EXPECT_EQ(region_->signals_waiting.load(), 0u);
  kill(getpid(), SIGUSR1);
  LookForOutsideSignals(region_);
  EXPECT_EQ(region_->signals_waiting.load(), uint64_t{1} << (SIGUSR1 - 1));
}

}  // namespace
}  // namespace wf::recorder
