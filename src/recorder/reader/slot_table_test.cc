#include "recorder/reader/slot_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"

namespace wf::recorder {
namespace {

using testing::ElementsAre;

std::string Bytes(const auto& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string OneChunk(ChunkKind kind, uint32_t thread, const std::string& records) {
  ChunkHead head{kChunkMark,
                 kind,
                 thread,
                 Codec::kNone,
                 static_cast<uint32_t>(records.size()),
                 static_cast<uint32_t>(records.size()),
                 ChecksumOf(records)};
  return Bytes(head) + records;
}

std::string BaseOf(uint32_t thread, uint32_t index) {
  ThreadBase base{};
  base.head = {RecordKind::kThreadBase, 0, sizeof base};
  base.thread = thread;
  base.parent = thread == 0 ? kNoThread : 0;
  base.index = index;
  return OneChunk(ChunkKind::kCheckpoint, kNoThread, Bytes(base));
}

std::string ObjectOne() {
  Object object{};
  object.head = {RecordKind::kObject, static_cast<uint16_t>(ObjectKind::kMutex), sizeof object};
  object.id = 1;
  return OneChunk(ChunkKind::kProcess, kNoThread, Bytes(object));
}

std::string CutAt(uint32_t thread, uint64_t time, Role role, uint64_t sequence) {
  Cut cut{};
  cut.head = {RecordKind::kCut, static_cast<uint16_t>(Op::kMutexLock),
              sizeof(Cut) + sizeof(Action)};
  cut.object = 1;
  cut.actions = 1;
  cut.end_ns = cut.start_ns = time;
  return OneChunk(ChunkKind::kThread, thread, Bytes(cut) + Bytes(Action{1, role, 0, sequence}));
}
std::string Unlock(uint32_t thread, uint64_t time, uint64_t sequence) {
  return CutAt(thread, time, Role::kReleaseAll, sequence);
}
std::string Lock(uint32_t thread, uint64_t time, uint64_t sequence) {
  return CutAt(thread, time, Role::kAcquireAll, sequence);
}

std::string InsideUnlock(uint32_t thread, uint64_t time, uint64_t sequence) {
  Inside inside{};
  inside.head = {RecordKind::kInside, static_cast<uint16_t>(Op::kMutexUnlock),
                 sizeof(Inside) + sizeof(Action)};
  inside.thread = thread;
  inside.object = 1;
  inside.actions = 1;
  inside.end_ns = time;
  return OneChunk(ChunkKind::kCheckpoint, kNoThread,
                  Bytes(inside) + Bytes(Action{1, Role::kReleaseAll, 0, sequence}));
}

std::string SettledAt(uint64_t time) {
  return OneChunk(ChunkKind::kCheckpoint, kNoThread,
                  Bytes(Settled{{RecordKind::kSettled, 0, sizeof(Settled)}, time}));
}
std::string SnapshotOf(uint32_t number, uint64_t until) {
  return OneChunk(
      ChunkKind::kCheckpoint, kNoThread,
      Bytes(Snapshot{{RecordKind::kSnapshot, 0, sizeof(Snapshot)}, number, 0, 0, until}));
}

struct TestSlot {
  uint32_t number = 0, released = 0;
  std::string chunks;
  SlotUse use = SlotUse::kClosed;
};

std::string FileOf(const std::vector<TestSlot>& slots) {
  SharedHead head{};
  std::memcpy(head.head.magic, kMagic, sizeof kMagic);
  head.head.version = kVersion;
  head.head.depth = kSchedule;
  head.head.head_size = kSlotHead;
  head.slots = static_cast<uint32_t>(slots.size());
  head.overwritten = 3;
  std::string file = Bytes(head);
  for (const TestSlot& slot : slots)
    file += Bytes(SlotEntry{slot.number, slot.released, slot.use, 0, slot.chunks.size(), 0});
  for (size_t i = 0; i < slots.size(); ++i) {
    file.resize(i * kSlotBytes + kSlotHead);
    file += slots[i].chunks;
  }
  return file;
}

Recording ReadFile(const std::string& file, const ReadOptions& options = {}) {
  return std::move(ReadRecording(FromMemory(file), "test.cpg", options)).value();
}

TEST(SlotTable, RunsEndAtGapsAndAtReleasedSlots) {
  const std::string file =
      FileOf({{8, 0, ""}, {5, 0, ""}, {6, 6, ""}, {7, 0, ""}, {0, 0, ""}, {3, 2, ""}});
  const auto table = ReadSlotTable(FromMemory(file), "test.cpg");
  ASSERT_TRUE(table.ok() && table->has_value());
  EXPECT_THAT((*table)->Numbers(), ElementsAre(3, 5, 7, 8));
  EXPECT_THAT((*table)->LastOfRuns(), ElementsAre(3, 5, 8));
  EXPECT_EQ((*table)->PlaceOf(6), std::nullopt);
  const auto run = ReadRun(FromMemory(file), **table, 8);
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run->size(), 2u);
  EXPECT_EQ(run->front().entry.number, 7u);
}

TEST(SlotTable, ASlotThatIsTakenMeanwhileEndsTheRun) {
  const std::string before = FileOf({{8, 0, ""}, {7, 0, ""}, {6, 0, ""}});
  const std::string after = FileOf({{8, 0, ""}, {7, 0, ""}, {9, 0, ""}});
  const auto table = ReadSlotTable(FromMemory(before), "test.cpg");
  const auto run = ReadRun(FromMemory(after), **table, 8);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->size(), 2u);
}

TEST(SlotTable, TooManySlotsAreRefused) {
  std::string file = FileOf({{1, 0, ""}, {2, 0, ""}});
  const uint32_t many = 1'000'000;
  std::memcpy(file.data() + offsetof(SharedHead, slots), &many, sizeof many);
  EXPECT_FALSE(ReadRecording(FromMemory(file), "test.cpg").ok());
}

TEST(SlotTable, OverwrittenSnapshotsAreCountedByName) {
  const Recording r = ReadFile(FileOf({{4, 0, SettledAt(1)}, {5, 0, ""}}));
  EXPECT_EQ(r.lost.at("overwritten_snapshots"), 3u);
}

// Thread 1 acquired (2) in the slot before what thread 0 released (1); the release was written down in this one.
TEST(SlotBase, WhatHadEndedWhenItSettledIsBefore) {
  const Recording r =
      ReadFile(FileOf({{4, 0,
                        BaseOf(0, 5) + BaseOf(1, 7) + ObjectOne() + Unlock(0, 10, 1) +
                            SettledAt(15) + Unlock(1, 20, 3) + Lock(0, 30, 4) + Unlock(0, 40, 5)},
                       {}}));
  EXPECT_TRUE(r.lost.count("broken_records") == 0);
  ASSERT_EQ(r.threads.size(), 2u);
  EXPECT_EQ(r.threads[0].first_index, 6u);
  EXPECT_EQ(r.threads[1].first_index, 7u);
  EXPECT_EQ(r.Find(0, 5), kNone);
  const Clocks clocks = Clocks::Compute(r);
  EXPECT_EQ(clocks.disorder(), 0u);
  // 1.7 released, 0.7 acquired.
  EXPECT_EQ(clocks.At(r.Find(1, 7), 0), 6u);
  EXPECT_EQ(clocks.At(r.Find(0, 6), 1), 7u);
  EXPECT_EQ(clocks.At(r.Find(0, 7), 1), 8u);
  EXPECT_TRUE(clocks.Before(r.Find(1, 7), r.Find(0, 7)));
}

// 1.8 had ended when it settled, and what it had acquired was written down by thread 0 only later.
TEST(SlotBase, GrowsUntilItIsConsistent) {
  const Recording r = ReadFile(
      FileOf({{4, 0,
               BaseOf(0, 5) + BaseOf(1, 7) + ObjectOne() + Lock(1, 10, 2) + Unlock(1, 12, 3) +
                   SettledAt(15) + Unlock(0, 11, 1) + Lock(0, 30, 4) + Unlock(0, 40, 5)},
              {}}));
  EXPECT_EQ(r.threads[0].first_index, 6u);
  EXPECT_EQ(r.threads[1].first_index, 9u);
}

TEST(SlotBase, ACallThatWasGoingOnHasEndedItsSubComputation) {
  const std::string slot = BaseOf(0, 5) + BaseOf(1, 7) + ObjectOne() + InsideUnlock(0, 10, 1) +
                           SettledAt(15) + Lock(1, 20, 4);
  const Recording inside = ReadFile(FileOf({{4, 0, slot}, {}}));
  EXPECT_EQ(inside.threads[0].first_index, 6u);
  EXPECT_TRUE(inside.threads[0].subs.empty());
  const Recording returned = ReadFile(FileOf({{4, 0, slot + Unlock(0, 30, 1)}, {}}));
  EXPECT_EQ(returned.threads[0].first_index, 6u);
  EXPECT_EQ(returned.threads[0].subs.size(), 1u);
}

TEST(SlotBase, WithoutASettledRecordNothingIsKnown) {
  const Recording r = ReadFile(
      FileOf({{4, 0, BaseOf(0, 5) + ObjectOne() + Unlock(0, 10, 1), SlotUse::kWriting}, {}}));
  EXPECT_TRUE(r.subs.empty());
}

TEST(SlotBase, FollowingSlotsAddToTheFirst) {
  const std::string first = BaseOf(0, 5) + ObjectOne() + SettledAt(5) + Unlock(0, 10, 1) +
                            SettledAt(12) + SnapshotOf(4, 11);
  const std::string second = BaseOf(0, 6) + ObjectOne() + SettledAt(15) + Unlock(0, 20, 2) +
                             SettledAt(22) + SnapshotOf(5, 21);
  const std::string file = FileOf({{5, 0, second}, {4, 0, first}});
  const Recording both = ReadFile(file);
  EXPECT_EQ(both.threads[0].first_index, 5u);
  EXPECT_EQ(both.threads[0].count(), 8u);
  ASSERT_EQ(both.snapshots.size(), 2u);
  EXPECT_THAT(both.snapshots[0].written, ElementsAre(6));
  EXPECT_THAT(both.snapshots[1].written, ElementsAre(7));
  ReadOptions options;
  options.snapshot = 4;
  EXPECT_EQ(ReadFile(file, options).threads[0].count(), 7u);
  const Recording alone = ReadFile(FileOf({{5, 0, second}, {4, 4, first}}));
  EXPECT_EQ(alone.threads[0].first_index, 6u);
  options.snapshot = 9;
  EXPECT_FALSE(ReadRecording(FromMemory(file), "test.cpg", options).ok());
}

// Records in any order, of programs that cannot have been: what is read has an order all the same, and nothing in it
// knows less than what came before.
RC_GTEST_PROP(SlotBase, AnyRecordsGiveAConsistentBeginning, ()) {
  const auto small = [](int most) { return static_cast<uint32_t>(*rc::gen::inRange(0, most)); };
  std::string chunks = ObjectOne();
  uint64_t time = 0;
  const uint32_t count = small(40);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t thread = small(4);
    const uint64_t sequence = small(30);
    time += small(3);
    switch (small(8)) {
      case 0:
        chunks += BaseOf(thread, small(5));
        break;
      case 1:
        chunks += InsideUnlock(thread, time, sequence);
        break;
      case 2:
        chunks += SettledAt(time);
        break;
      case 3:
        chunks += SnapshotOf(small(5), time);
        break;
      default:
        chunks += CutAt(thread, time, static_cast<Role>(1 + small(6)), sequence);
        break;
    }
  }
  std::string start;
  for (uint32_t t = 0; t < 4; ++t) start += BaseOf(t, small(5));
  const Recording r = ReadFile(FileOf({{4, 0, start + chunks}, {5, 0, chunks}}));
  const Clocks clocks = Clocks::Compute(r);
  for (SubId s = 0; s < r.subs.size(); ++s) {
    RC_ASSERT(r.Find(r.subs[s].thread, r.subs[s].index) == s);
    for (const ThreadFacts& thread : r.threads)
      RC_ASSERT(clocks.At(s, thread.id) >= thread.first_index);
  }
}

class OnDisk : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/wherefore-slots-XXXXXX";
    const int fd = ::mkstemp(name);
    ASSERT_GE(fd, 0);
    path_ = name;
    const std::string file = FileOf({{5, 0, BaseOf(0, 6) + SettledAt(15) + SnapshotOf(5, 21)},
                                     {4, 0, BaseOf(0, 5) + SettledAt(5) + SnapshotOf(4, 11)},
                                     {6, 0, "", SlotUse::kWriting}});
    ASSERT_EQ(::write(fd, file.data(), file.size()), static_cast<ssize_t>(file.size()));
    ::close(fd);
  }
  void TearDown() override {
    ::unlink(path_.c_str());
    ::unlink((path_ + ".copy").c_str());
  }
  std::string path_;
};

TEST_F(OnDisk, AReleasedSnapshotIsGone) {
  ASSERT_TRUE(ReleaseSlot(path_, 4).ok());
  const auto table = ReadSlotTable(*FromFile(path_), path_);
  EXPECT_THAT((*table)->Numbers(), ElementsAre(5, 6));
  EXPECT_EQ(ReleaseSlot(path_, 4).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ReleaseSlot(path_, 6).error().code, ErrorCode::kNotFound);  // is being written
}

TEST_F(OnDisk, ACopyHoldsWhatItsSnapshotNeeds) {
  ASSERT_TRUE(CopySnapshot(path_, 5, path_ + ".copy").ok());
  const auto copy = ReadRecording(path_ + ".copy");
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->only_snapshot, 5u);
  EXPECT_EQ(copy->snapshots.size(), 2u);
  EXPECT_EQ(CopySnapshot(path_, 77, path_ + ".copy").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(CopySnapshot(path_, 5, path_).error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace wf::recorder
