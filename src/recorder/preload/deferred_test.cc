// What signal handlers record stands in the ring in the order in which it was recorded, wherever they come.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace wf::recorder
