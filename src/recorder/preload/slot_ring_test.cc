#include "recorder/preload/slot_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace wf::recorder {
namespace {

struct Head {
  alignas(8) char bytes[kSlotHead] = {};
  explicit Head(uint32_t slots) { head()->slots = slots; }
  SharedHead* head() { return reinterpret_cast<SharedHead*>(bytes); }
  SlotEntry& entry(uint32_t i) { return reinterpret_cast<SlotEntry*>(head() + 1)[i]; }
};

TEST(SlotRing, UsesEmptySlotsThenOverwritesTheOldest) {
  Head head(3);
  SlotRing ring;
  ring.Open(head.head());
  std::vector<uint64_t> places;
  for (int i = 0; i < 5; ++i) {
    ring.Next();
    EXPECT_GE(ring.begin(), kSlotHead);
    EXPECT_LE(ring.end(), 3 * kSlotBytes);
    places.push_back(ring.begin() / kSlotBytes);
    ring.Commit(ring.begin() + 100);
    ring.Close(SlotUse::kClosed);
  }
  EXPECT_EQ(places, (std::vector<uint64_t>{0, 1, 2, 0, 1}));
  EXPECT_EQ(head.head()->overwritten, 2u);
  EXPECT_EQ(head.entry(1).number, 5u);
  EXPECT_EQ(head.entry(1).used, 100u);
}

TEST(SlotRing, TakesWhatWasReleasedFirst) {
  Head head(3);
  SlotRing ring;
  ring.Open(head.head());
  for (int i = 0; i < 3; ++i) {
    ring.Next();
    ring.Close(SlotUse::kClosed);
  }
  head.entry(1).released = 2;
  head.entry(0).released = 77;  // of a snapshot that is gone: says nothing about this one
  ring.Next();
  EXPECT_EQ(ring.begin() / kSlotBytes, 1u);
  EXPECT_EQ(head.entry(1).number, 4u);
  EXPECT_EQ(head.entry(1).released, 0u);
  EXPECT_EQ(head.head()->overwritten, 0u);
  ring.Next();
  EXPECT_EQ(ring.begin() / kSlotBytes, 0u);
  EXPECT_EQ(head.head()->overwritten, 1u);
}

}  // namespace
}  // namespace wf::recorder
