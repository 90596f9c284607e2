#include "recorder/reader/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "recorder/format/memory_events.h"
#include "recorder/reader/op_names.h"
#include "recorder/reader/page_runs.h"
#include "recorder/reader/testing/random_run.h"

namespace wf::recorder {
namespace {

constexpr const char* kRun = R"(0 start
  0 name program
  0 create 1
  1 start
  1 name worker
  1 writes 20 22-24
  1 reads 21
  1 lock m
  0 input /etc/passwd 0 100
  0 output stdout 0 5
  1 unlock m
  1 end
  0 join 1
  0 exit)";

Result<Recording> Read(const std::string& bytes) {
  return ReadRecording(FromMemory(bytes), "test.cpg");
}

TEST(Recording, IsReadWhole) {
  ScriptedRun run;
  run.Lines(kRun);
  for (const ScriptedRun::Form& form :
       {ScriptedRun::Form{}, ScriptedRun::Form{1, false, true}, ScriptedRun::Form{2, true, true}}) {
    const auto r = Read(run.Bytes(form));
    ASSERT_TRUE(r.ok());
    EXPECT_TRUE(r->complete);
    EXPECT_TRUE(r->lost.empty());
    ASSERT_EQ(r->threads.size(), 2u);
    EXPECT_EQ(r->threads[0].name, "program");
    EXPECT_EQ(r->threads[0].parent, kNoThread);
    EXPECT_EQ(r->threads[1].name, "worker");
    EXPECT_EQ(r->threads[1].parent, 0u);
    ASSERT_EQ(r->threads[0].subs.size(), 3u);
    ASSERT_EQ(r->threads[1].subs.size(), 3u);
    const SubComputation& first = r->subs[r->Find(1, 0)];
    EXPECT_EQ(NameOf(first.op), "pthread_mutex_lock");
    EXPECT_EQ(NameOf(r->objects[first.object].kind), "mutex");
    ASSERT_EQ(first.pages.size(), 3u);
    const PageRuns* const pages = &r->pages[first.pages.begin];
    EXPECT_TRUE(pages[0].first == 20 && pages[0].count == 1 && pages[0].written);
    EXPECT_TRUE(pages[1].first == 21 && pages[1].count == 1 && !pages[1].written);
    EXPECT_TRUE(pages[2].first == 22 && pages[2].count == 3 && pages[2].written);
    const SubComputation& middle = r->subs[r->Find(0, 1)];
    ASSERT_EQ(middle.transfers.size(), 2u);
    EXPECT_EQ(r->NameOf(r->transfers[middle.transfers.begin]), "/etc/passwd");
    EXPECT_TRUE(r->transfers[middle.transfers.begin + 1].output());
    EXPECT_EQ(NameOf(r->subs[r->Find(0, 2)].op), "exit");
    EXPECT_EQ(NameOf(r->subs[r->Find(1, 2)].op), "thread_exit");
  }
}

TEST(Recording, CutOffAnywhereHasWhatIsWhole) {
  ScriptedRun run;
  run.Lines(kRun);
  const std::string whole = run.Bytes({1, false, true});
  size_t subs = 0;
  for (size_t size = sizeof(FileHead); size < whole.size(); ++size) {
    const auto r = Read(whole.substr(0, size));
    ASSERT_TRUE(r.ok()) << size;
    EXPECT_FALSE(r->complete);
    EXPECT_GE(r->subs.size(), subs);  // never less than of a shorter file
    subs = r->subs.size();
    for (const ThreadFacts& thread : r->threads) {
      if (thread.started && !thread.ended) {
        EXPECT_EQ(r->subs[thread.subs.end - 1].end_ns, kNotEnded);
        EXPECT_EQ(r->subs[thread.subs.end - 1].op, Op::kNone);
      }
    }
  }
  EXPECT_EQ(subs, 6u);
}

TEST(Recording, ADamagedChunkIsPassedOverAndCounted) {
  ScriptedRun run;
  run.Lines(kRun);
  std::string bytes = run.Bytes({1, false, true});
  bytes[sizeof(FileHead) + sizeof(ChunkHead) + 20] ^= 1;  // an object
  const auto r = Read(bytes);
  ASSERT_TRUE(r.ok());
  EXPECT_FALSE(r->complete);
  EXPECT_EQ(r->lost.at("damaged_chunks"), 1u);
  EXPECT_EQ(r->subs.size(), 6u);
  EXPECT_GT(r->lost.at("objects_without_beginning"), 0u);
}

TEST(Recording, WhatIsNoRecordingIsRefused) {
  EXPECT_EQ(Read("").error().code, ErrorCode::kBadInput);
  EXPECT_EQ(Read("{\"version\":1}").error().code, ErrorCode::kBadInput);
  std::string newer = ScriptedRun().Lines("0 start").Bytes();
  newer[8] = 2;
  EXPECT_THAT(Read(newer).error().message, ::testing::HasSubstr("version 2"));
  EXPECT_EQ(ReadRecording("/nonexistent/f.cpg").error().code, ErrorCode::kBadInput);
}

TEST(Recording, IdsFarBeyondWhatWasSeenCostNothing) {
  ScriptedRun run;
  run.Lines("0 start");
  ThreadStart start{};
  start.head = {RecordKind::kThreadStart, 0, sizeof start};
  start.thread = 4'000'000'000;
  const std::string bytes =
      run.Bytes() + ScriptedRun::ChunkOf(ChunkKind::kThread, start.thread,
                                         {reinterpret_cast<const char*>(&start), sizeof start},
                                         false);
  const auto r = Read(bytes);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->threads.size(), 1u);
  EXPECT_EQ(r->lost.at("broken_records"), 1u);
}

std::string WithMemory(const std::vector<MemoryEvent>& events, size_t missing = 0) {
  std::string record(sizeof(Memory), '\0');
  MemoryEvent last;
  for (const MemoryEvent& event : events) {
    uint8_t bytes[kMaxMemoryEvent];
    record.append(reinterpret_cast<const char*>(bytes),
                  static_cast<size_t>(PutMemoryEvent(bytes, event, &last) - bytes));
  }
  record.resize((record.size() + 7) / 8 * 8);
  const RecordHead head = {RecordKind::kMemory, static_cast<uint16_t>(events.size() + missing),
                           static_cast<uint32_t>(record.size())};
  std::memcpy(record.data(), &head, sizeof head);
  ScriptedRun run;
  run.Lines("0 start");
  return run.Bytes() + ScriptedRun::ChunkOf(ChunkKind::kThread, 0, record, false);
}

TEST(Recording, PackedAllocationsAreRead) {
  const auto r = Read(WithMemory({{100, 0x7f0000001010, 24, 0x555500001234, false},
                                  {105, 0x7f0000002020, uint64_t{5} << 32, 0x555500001000, false},
                                  {103, 0x7f0000001010, 0, 0, true},  // of a handler, a little late
                                  {110, 0x7f0000001010, 7, 0x555500001234, false}}));
  ASSERT_TRUE(r.ok());
  EXPECT_TRUE(r->lost.empty());
  ASSERT_EQ(r->allocations.size(), 3u);
  const AllocationFacts& first = r->allocations[0];
  EXPECT_EQ(first.address, 0x7f0000001010u);
  EXPECT_EQ(first.size, 24u);
  EXPECT_EQ(first.site, 0x555500001234u);
  EXPECT_EQ(first.from_ns, 100);
  EXPECT_EQ(first.until_ns, 103);
  EXPECT_EQ(r->allocations[1].from_ns, 110);
  EXPECT_EQ(r->allocations[1].size, 7u);
  EXPECT_EQ(r->allocations[1].site, 0x555500001234u);
  EXPECT_EQ(r->allocations[2].size, uint64_t{5} << 32);
}

TEST(Recording, PackedAllocationsThatEndTooSoonAreCounted) {
  const auto r = Read(WithMemory({{100, 0x7f0000001010, 24, 0x555500001234, false}}, 40));
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->lost.at("broken_records"), 1u);
  EXPECT_EQ(r->allocations[0].size, 24u);
}

TEST(Recording, NamesOfSubComputations) {
  EXPECT_EQ(ParseSubName("3.14"), std::make_pair(3u, 14u));
  for (const char* text : {"", "3", "3.", ".3", "3.x", "-1.2", "3.014", "99999999999.1", "1.2.3"})
    EXPECT_FALSE(ParseSubName(text)) << text;
}

RC_GTEST_PROP(PageRuns, AreTheSetThatWasGiven,
              (const std::vector<std::tuple<uint8_t, uint8_t, bool>>& given)) {
  std::map<uint64_t, bool> expected;
  std::vector<PageRuns> runs;
  for (const auto& [first, count, written] : given) {
    runs.push_back({first, uint64_t{count % 8u} + 1, written});
    for (uint64_t p = first; p < runs.back().first + runs.back().count; ++p)
      expected[p] = expected[p] || written;
  }
  NormalisePages(runs);
  std::map<uint64_t, bool> found;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) {
      const uint64_t end = runs[i - 1].first + runs[i - 1].count;
      RC_ASSERT(end <= runs[i].first);
      RC_ASSERT(end < runs[i].first || runs[i - 1].written != runs[i].written);
    }
    for (uint64_t p = 0; p < runs[i].count; ++p) found[runs[i].first + p] = runs[i].written;
  }
  RC_ASSERT(found == expected);
}

// Whatever bytes are changed, reading ends, and what it hands out holds together.
RC_GTEST_PROP(Recording, SurvivesChangedBytes,
              (const std::vector<uint32_t>& choices,
               const std::vector<std::pair<uint32_t, uint8_t>>& changes)) {
  const RandomRun made = RandomRunMaker().Make(choices);
  std::string bytes = made.run.Bytes({2, false, true});
  for (const auto& [at, value] : changes)
    bytes[sizeof(FileHead) + at % (bytes.size() - sizeof(FileHead))] = static_cast<char>(value);
  const auto r = Read(bytes);
  RC_ASSERT(r.ok());
  for (SubId s = 0; s < r->subs.size(); ++s) {
    const SubComputation& sub = r->subs[s];
    RC_ASSERT(r->Find(sub.thread, sub.index) == s);
    RC_ASSERT(sub.object == kNone || sub.object < r->objects.size());
    RC_ASSERT(sub.actions.end <= r->actions.size() && sub.pages.end <= r->pages.size());
  }
}

}  // namespace
}  // namespace wf::recorder
