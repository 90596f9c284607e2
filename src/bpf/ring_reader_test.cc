// A ring that a real program fills, run by the kernel as often as we ask.
#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "bpf/assembler.h"
#include "bpf/bpf_object.h"
#include "bpf/ring_submit.h"

namespace wf::bpf {
namespace {

constexpr uint32_t kRingBytes = 1 << 16;
constexpr int32_t kRecordBytes = 56;  // 64 with its header
constexpr int kRecordsInARing = kRingBytes / 64;

struct Filled {
  BpfMap ring;
  BpfProgram program;

  // Puts `count` records into the ring, or as many as it has room for.
  void Fill(uint32_t count) const {
    std::array<char, 64> packet{};
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    options.data_in = packet.data();
    options.data_size_in = packet.size();
    options.repeat = static_cast<int>(count);
    EXPECT_EQ(bpf_prog_test_run_opts(program.fd(), &options), 0);
  }
};

Result<Filled> MakeFilled() {
  Filled filled;
  WF_ASSIGN(filled.ring, BpfMap::Create("wf_test_ring", {BpfMapType::kRing, 0, 0, kRingBytes}));
  using R = BpfReg;
  BpfAssembler a;
  const auto out = a.NewLabel();
  a.Map(R::r1, filled.ring.fd());
  a.Move(R::r2, kRecordBytes);
  a.Move(R::r3, 0);
  a.Call(BPF_FUNC_ringbuf_reserve);
  a.JumpIf(R::r0, BpfCondition::kEqual, 0, out);
  a.Move(R::r6, R::r0);
  AppendRingSubmit(a, filled.ring, R::r6);
  a.Bind(out);
  a.Return(0);
  WF_ASSIGN(filled.program, BpfProgram::Load("wf_test_fill", BpfProgramType::kPacket, a.Finish()));
  return filled;
}

class RingReader : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = MakeFilled();
    if (!made.ok() && getenv("WHEREFORE_NEEDS_BPF") == nullptr)
      GTEST_SKIP() << made.error().message;
    ASSERT_TRUE(made.ok()) << made.error().message;
    filled_.emplace(std::move(*made));
  }
  std::optional<Filled> filled_;
};

TEST_F(RingReader, OnePollTakesAllThatWasThere) {
  int taken = 0;
  auto reader = BpfRingReader::Open(filled_->ring, [&](std::string_view record) {
    EXPECT_EQ(record.size(), static_cast<size_t>(kRecordBytes));
    ++taken;
  });
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  filled_->Fill(3 * kRecordsInARing);
  const auto polled = reader->Poll(0);
  ASSERT_TRUE(polled.ok()) << polled.error().message;
  EXPECT_GE(*polled, kRecordsInARing - 1);
  EXPECT_EQ(*polled, taken);
  EXPECT_EQ(*reader->Poll(0), 0);
  filled_->Fill(1);
  EXPECT_EQ(*reader->Poll(1000), 1);
}

// One record wakes nobody and is found when the wait is over; many end the wait, or the ring would be full before.
TEST_F(RingReader, IsWokenWhenAQuarterIsFull) {
  auto reader = BpfRingReader::Open(filled_->ring, [](std::string_view) {});
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  std::thread few([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    filled_->Fill(1);
  });
  EXPECT_EQ(*reader->Poll(200), 1);
  few.join();
  std::thread many([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    filled_->Fill(kRecordsInARing / 2);
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_GT(*reader->Poll(600'000), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(5));
  many.join();
}

// Whoever takes a record waits here until there is another, so the ring is never seen empty.
TEST_F(RingReader, PollReturnsThoughTheRingIsFilledFaster) {
  std::atomic<uint64_t> filled{0};
  std::atomic<bool> stop{false};
  int taken = 0;
  auto reader = BpfRingReader::Open(filled_->ring, [&](std::string_view) {
    const uint64_t seen = filled;
    while (filled == seen && !stop) std::this_thread::yield();
    if (++taken > 4 * kRecordsInARing)
      stop = true;  // else a Poll that never returns would hang the test
  });
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  std::thread filler([&] {
    while (!stop) {
      filled_->Fill(4);
      ++filled;
    }
  });
  while (filled == 0) std::this_thread::yield();
  const auto polled = reader->Poll(1000);
  const int first = taken;
  const auto again = reader->Poll(1000);
  stop = true;
  filler.join();
  ASSERT_TRUE(polled.ok() && again.ok());
  EXPECT_EQ(*polled, first);
  EXPECT_LE(*polled, kRecordsInARing);
  EXPECT_GT(*again, 0) << "it goes on where it stopped";
  EXPECT_LE(*again, kRecordsInARing);
}

}  // namespace
}  // namespace wf::bpf
