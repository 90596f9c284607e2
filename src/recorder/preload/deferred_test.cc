// What signal handlers record stands in the ring in the order in which it was recorded, wherever they come.
#include <gtest/gtest.h>
#include <sys/time.h>

#include <csignal>
#include <memory>
#include <vector>

#include "recorder/preload/recording.h"
#include "recorder/preload/ring.h"
#include "recorder/preload/scribe.h"

namespace wf::recorder {

// Nobody empties the ring here, and no recording begins.
void KickScribe(Region*) {}
void EnsureStarted() {}
Slot* AdoptThread() { return nullptr; }
Slot* SlotOfUnknownChild() { return nullptr; }
void LearnModules(Slot*, uint64_t) {}
std::atomic<uint32_t> g_started{2};
const volatile uint32_t* g_fork_guard = nullptr;

namespace {

class DeferredRecords : public ::testing::Test {
 protected:
  DeferredRecords() : slot_(std::make_unique<Slot>()), ring_(kRingSize) {
    slot_->ring = ring_.data();
    slot_->pending.at_head.store(~uint64_t{0});
  }

  void Record(uint32_t number, Held held = Held::kNo) {
    Lost record = {};
    record.head = {RecordKind::kLost, 0, sizeof record};
    record.count = number;
    Append(slot_.get(), &record, sizeof record, held);
  }

  std::vector<uint64_t> Written() const {
    std::vector<uint64_t> numbers;
    for (uint64_t at = 0; at < slot_->head.load(); at += sizeof(Lost)) {
      Lost record;
      std::memcpy(&record, ring_.data() + at, sizeof record);
      numbers.push_back(record.count);
    }
    return numbers;
  }

  std::unique_ptr<Slot> slot_;
  std::vector<uint8_t> ring_;
};

TEST_F(DeferredRecords, GoesBehindTheCallThatHeldItUp) {
  slot_->holding.store(1);
  Record(2);  // a handler's
  EXPECT_TRUE(Written().empty());
  Record(1, Held::kYes);
  EXPECT_EQ(Written(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(DeferredRecords, GoesBeforeWhatAHandlerRecordsJustBeforeItIsWritten) {
  slot_->holding.store(1);
  Record(1);
  slot_->holding.store(0);  // the thread is about to write it, and another handler comes
  Record(2);
  EXPECT_EQ(Written(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(DeferredRecords, GoesBeforeWhatAHandlerRecordsWhileItIsWritten) {
  slot_->holding.store(1);
  Record(1);
  slot_->holding.store(0);
  slot_->deferred.flushing.store(1);  // the thread has begun
  Record(2);
  slot_->holding.store(1);  // the same of a handler that drew a number
  Record(3, Held::kYes);
  EXPECT_EQ(slot_->holding.load(), 0u);
  EXPECT_TRUE(Written().empty());
  slot_->deferred.flushing.store(0);
  FlushDeferred(slot_.get());
  EXPECT_EQ(Written(), (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(DeferredRecords, AnOpenRecordIsClosedBeforeTheNext) {
  const Lost open = {{RecordKind::kLost, 0, sizeof(Lost)}, 1};
  std::memcpy(ring_.data(), &open, sizeof open);
  slot_->open_record.store(1);
  slot_->pending.at_head.store(0);  // the thread is in a call
  EXPECT_TRUE(Written().empty());
  CloseOpenRecord(slot_.get(), ring_.data());
  EXPECT_EQ(Written(), (std::vector<uint64_t>{1}));
  EXPECT_EQ(slot_->pending.at_head.load(), slot_->head.load());
  std::memcpy(ring_.data() + sizeof open, &open, sizeof open);
  slot_->open_record.store(1);
  slot_->room_end = slot_->head.load();
  Record(2);
  EXPECT_EQ(Written(), (std::vector<uint64_t>{1, 1, 2}));
}

// A thread that waits for a semaphore over and over, and a handler that posts it wherever it comes.
class InterruptedCalls : public DeferredRecords {
 protected:
  InterruptedCalls() : region_(std::make_unique<Region>()) {
    g_region = region_.get();
    slot_->module_end = ~uint64_t{0};
    now_ = this;
    struct sigaction action = {};
    action.sa_handler = [](int) { now_->Make(Op::kSemPost, Role::kReleaseAll); };
    sigaction(SIGALRM, &action, nullptr);
    const itimerval often = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~InterruptedCalls() override {
    const itimerval off = {};
    setitimer(ITIMER_REAL, &off, nullptr);
    signal(SIGALRM, SIG_IGN);
    g_region = nullptr;
  }
  void Make(Op op, Role role) {
    Call call(slot_.get(), op, 1);
    call.Act({&semaphore_, 1}, role);
    call.Finish();
    made_.fetch_add(1, std::memory_order_relaxed);
  }

  static InterruptedCalls* now_;
  std::unique_ptr<Region> region_;
  ObjectEntry semaphore_ = {};
  std::atomic<uint32_t> made_{0};
};
InterruptedCalls* InterruptedCalls::now_ = nullptr;

TEST_F(InterruptedCalls, StandInTheOrderOfTheirNumbers) {
  uint64_t read = 0, last = 0, handled = 0, out_of_order = 0;
  for (const uint64_t end = MonotonicNs() + 500'000'000; MonotonicNs() < end;) {
    for (int i = 0; i < 100; ++i) Make(Op::kSemWait, Role::kAcquireAll);
    for (const uint64_t head = slot_->head.load(); read < head;) {
      struct {
        Cut cut;
        Action action;
      } record;
      std::memcpy(&record, ring_.data() + read % kRingSize, sizeof record.cut.head);
      const RecordHead& head_of = record.cut.head;
      if (head_of.kind == RecordKind::kCut) {
        std::memcpy(&record, ring_.data() + read % kRingSize, sizeof record);
        handled += head_of.detail == static_cast<uint16_t>(Op::kSemPost) ? 1 : 0;
        out_of_order += record.action.sequence < last ? 1 : 0;
        last = record.action.sequence;
      }
      read += head_of.size;
      slot_->tail.store(read);
    }
  }
  EXPECT_GT(handled, 100u);
  EXPECT_EQ(out_of_order, 0u);
}

}  // namespace
}  // namespace wf::recorder
