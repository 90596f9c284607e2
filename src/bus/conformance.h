// The suite that every Bus must pass. A bus's test file defines a factory and instantiates the suite with it:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, BusConformance, ::testing::Values(&MakeMemoryFactory));
//
// One thread drives all members, a little each in turn, because that is how hand-over can be looked at between steps.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bus/bus.h"
#include "bus/pieces.h"
#include "bus/test_batch.h"

namespace wf::bus {

// A place for buses, each with nothing on it.
class BusFactory {
 public:
  virtual ~BusFactory() = default;
  virtual Result<std::unique_ptr<Bus>> Open(int32_t partitions) = 0;
  // Onto the last bus opened, past its publishers.
  virtual void PutRaw(int32_t partition, const std::string& bytes) = 0;
  virtual std::vector<std::string> Poisoned() = 0;
};
using MakeBusFactory = std::unique_ptr<BusFactory> (*)();

// The value, which a test that goes on must have.
template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) ADD_FAILURE() << result.error().message;
  return std::move(result).value();
}

class BusConformance : public ::testing::TestWithParam<MakeBusFactory> {
 protected:
  static constexpr int32_t kPartitions = 4;
  static constexpr Nanos kPatience = 60 * kSecond;  // a broker on a loaded machine

  // A member, and what it was told.
  struct Member {
    std::set<int32_t> held;
    std::vector<BusPiece> pieces;
    int gained = 0, lost = 0;
    std::function<void()> on_lost;
    std::unique_ptr<BusReader> reader;  // last: it tells what is lost when it goes
  };

  void SetUp() override {
    factory_ = GetParam()();
    auto bus = factory_->Open(kPartitions);
    ASSERT_TRUE(bus.ok()) << bus.error().message;
    bus_ = std::move(*bus);
    auto publisher = bus_->Publisher();
    ASSERT_TRUE(publisher.ok()) << publisher.error().message;
    publisher_ = std::move(*publisher);
  }
  void TearDown() override {
    publisher_.reset();
    bus_.reset();
  }

  Status Send(EventBatch batch) {
    std::promise<Status> done;
    auto answer = done.get_future();
    publisher_->Publish(std::move(batch),
                        [&](Status status) { done.set_value(std::move(status)); });
    return answer.get();
  }
  void Publish(EventBatch batch) {
    const Status status = Send(std::move(batch));
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  std::unique_ptr<Member> Join(const std::string& group = "tail") {
    auto member = std::make_unique<Member>();
    Member* raw = member.get();
    BusHandover handover;
    handover.gained = [this, raw](const std::vector<int32_t>& partitions) {
      ++raw->gained;
      for (const int32_t p : partitions) {
        EXPECT_TRUE(raw->held.insert(p).second) << p;
      }
    };
    handover.lost = [raw](const std::vector<int32_t>& partitions) {
      ++raw->lost;
      if (raw->on_lost) raw->on_lost();
      for (const int32_t p : partitions) EXPECT_EQ(raw->held.erase(p), 1u) << p;
    };
    auto reader = bus_->Join(group, std::move(handover));
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    member->reader = std::move(*reader);
    return member;
  }
  // Lets everybody read, a little each, until `enough`.
  static bool ReadUntil(const std::vector<Member*>& members, const std::function<bool()>& enough) {
    const Nanos deadline = MonotonicNow() + kPatience;
    while (!enough()) {
      if (MonotonicNow() > deadline) return false;
      for (Member* member : members) ReadOnce(*member);
    }
    return true;
  }
  static void ReadOnce(Member& member, Nanos patience = 30 * kMilli) {
    auto pieces = member.reader->Read(patience);
    ASSERT_TRUE(pieces.ok()) << pieces.error().message;
    for (BusPiece& piece : *pieces) {
      EXPECT_EQ(member.held.count(piece.at.partition), 1u);
      ASSERT_NE(piece.events, nullptr);
      member.pieces.push_back(std::move(piece));
    }
  }
  bool ReadRows(Member& member, size_t rows) {
    return ReadUntil({&member}, [&] { return Rows(member.pieces) >= rows; });
  }
  static size_t Rows(const std::vector<BusPiece>& pieces) {
    size_t rows = 0;
    for (const BusPiece& piece : pieces) rows += piece.events->size();
    return rows;
  }
  // The spans of each trace, in the order they were read.
  static std::map<uint64_t, std::vector<uint64_t>> Spans(const std::vector<BusPiece>& pieces) {
    std::map<uint64_t, std::vector<uint64_t>> spans;
    for (const BusPiece& piece : pieces)
      for (size_t row = 0; row < piece.events->size(); ++row)
        spans[piece.events->trace_lo[row]].push_back(piece.events->id1[row]);
    return spans;
  }
  static std::vector<BusPosition> Last(const std::vector<BusPiece>& pieces) {
    std::map<int32_t, int64_t> last;
    for (const BusPiece& piece : pieces) last[piece.at.partition] = piece.at.offset;
    std::vector<BusPosition> out;
    for (const auto& [partition, offset] : last) out.push_back({partition, offset});
    return out;
  }
  static void CommitAll(Member& member) {
    const Status status = member.reader->Commit(Last(member.pieces));
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  std::unique_ptr<BusFactory> factory_;
  std::unique_ptr<Bus> bus_;
  std::unique_ptr<BusPublisher> publisher_;
};

TEST_P(BusConformance, ATracesEventsStayTogetherAndInOrder) {
  constexpr uint64_t kTraces = 30, kSpans = 10;
  for (uint64_t span = 1; span <= kSpans; ++span) {
    std::vector<std::pair<uint64_t, uint64_t>> rows;
    for (uint64_t trace = 1; trace <= kTraces; ++trace) rows.emplace_back(trace, span);
    Publish(BusBatch(rows));
  }
  EXPECT_EQ(bus_->ReadStatus().unsent, 0);
  const auto member = Join();
  ASSERT_TRUE(ReadRows(*member, kTraces * kSpans));
  const auto spans = Spans(member->pieces);
  ASSERT_EQ(spans.size(), kTraces);
  for (const auto& [trace, ids] : spans) {
    ASSERT_EQ(ids.size(), kSpans) << trace;
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end())) << trace;
  }
  std::map<int32_t, int64_t> last;
  std::set<int32_t> used;
  for (const BusPiece& piece : member->pieces) {
    EXPECT_EQ(piece.before, BusPiece::Before::kMaybeRead);  // published before anyone joined
    const auto before = last.find(piece.at.partition);
    EXPECT_TRUE(before == last.end() || piece.at.offset == before->second + 1);
    last[piece.at.partition] = piece.at.offset;
    used.insert(piece.at.partition);
    for (size_t row = 0; row < piece.events->size(); ++row)
      EXPECT_EQ(PartitionOf(piece.events->trace_id(row), kPartitions), piece.at.partition);
  }
  EXPECT_EQ(used.size(), static_cast<size_t>(kPartitions));
}

TEST_P(BusConformance, EventsComeAsTheyWereSentAndKnowTheirReceipt) {
  EventBatch sent = BusBatch({{1, 1}, {2, 2}, {3, 3}}, "a text");
  sent.tenant = "acme";
  sent.received_ns = 12345;
  const EventBatch copy = sent;
  Publish(std::move(sent));
  const auto member = Join();
  ASSERT_TRUE(ReadRows(*member, 3));
  for (const BusPiece& piece : member->pieces) {
    EXPECT_EQ(piece.events->tenant, "acme");
    for (size_t row = 0; row < piece.events->size(); ++row) {
      EXPECT_EQ(piece.events->received_of(row), 12345);
      EXPECT_EQ(ContentHash(*piece.events, row), ContentHash(copy, piece.events->id1[row] - 1));
    }
  }
  Publish(BusBatch({{4, 4}}));
  ASSERT_TRUE(ReadRows(*member, 4));
  EXPECT_GT(member->pieces.back().events->received_ns, Now() - kHour);
}

TEST_P(BusConformance, WhatIsNotCommittedComesAgainWhatIsDoesNot) {
  auto member = Join();
  ASSERT_TRUE(ReadUntil({member.get()}, [&] { return member->gained == 1; }));
  for (uint64_t trace = 1; trace <= 20; ++trace) Publish(BusBatch({{trace, 1}}));
  ASSERT_TRUE(ReadRows(*member, 20));
  for (const BusPiece& piece : member->pieces) EXPECT_EQ(piece.before, BusPiece::Before::kNotRead);
  CommitAll(*member);
  for (uint64_t trace = 1; trace <= 10; ++trace) Publish(BusBatch({{trace, 2}}));
  ASSERT_TRUE(ReadRows(*member, 30));
  member.reset();  // leaves

  member = Join();
  ASSERT_TRUE(ReadRows(*member, 10));
  Publish(BusBatch({{99, 3}}));
  ASSERT_TRUE(ReadRows(*member, 11));
  for (const BusPiece& piece : member->pieces) {
    const bool again = piece.events->id1[0] == 2;
    EXPECT_EQ(piece.before, again ? BusPiece::Before::kMaybeRead : BusPiece::Before::kNotRead);
  }
  const auto spans = Spans(member->pieces);
  EXPECT_EQ(spans.size(), 11u);
  for (const auto& [trace, ids] : spans) EXPECT_EQ(ids.size(), 1u) << trace;
}

TEST_P(BusConformance, MembersShareThePartitionsAndHandThemOver) {
  auto first = Join();
  ASSERT_TRUE(ReadUntil({first.get()}, [&] { return first->held.size() == kPartitions; }));
  auto second = Join();
  // No partition ever has two holders.
  const auto apart = [&] {
    for (const int32_t p : first->held) EXPECT_EQ(second->held.count(p), 0u) << p;
  };
  ASSERT_TRUE(ReadUntil({first.get(), second.get()}, [&] {
    apart();
    return first->held.size() == 2 && second->held.size() == 2;
  }));
  for (uint64_t trace = 1; trace <= 40; ++trace) Publish(BusBatch({{trace, 1}}));
  ASSERT_TRUE(ReadUntil({first.get(), second.get()},
                        [&] { return Rows(first->pieces) + Rows(second->pieces) >= 40; }));
  EXPECT_GT(Rows(first->pieces), 0u);
  EXPECT_GT(Rows(second->pieces), 0u);
  CommitAll(*first);
  const size_t uncommitted = Rows(second->pieces);
  const size_t before = Rows(first->pieces);
  second.reset();
  ASSERT_TRUE(ReadUntil({first.get()}, [&] {
    return first->held.size() == kPartitions && Rows(first->pieces) >= before + uncommitted;
  }));
  EXPECT_EQ(Rows(first->pieces), 40u);
  EXPECT_EQ(Spans(first->pieces).size(), 40u);
  EXPECT_EQ(bus_->ReadStatus().partitions, kPartitions);
}

TEST_P(BusConformance, WorkFinishedWhileAPartitionIsLostCanBeCommitted) {
  auto first = Join();
  for (uint64_t trace = 1; trace <= 20; ++trace) Publish(BusBatch({{trace, 1}}));
  ASSERT_TRUE(ReadRows(*first, 20));
  first->on_lost = [raw = first.get()] { CommitAll(*raw); };
  first.reset();
  const auto second = Join();
  Publish(BusBatch({{21, 2}}));
  ASSERT_TRUE(ReadRows(*second, 1));
  EXPECT_EQ(Spans(second->pieces), (std::map<uint64_t, std::vector<uint64_t>>{{21, {2}}}));
}

TEST_P(BusConformance, ACommitOfWhatIsNotHeldIsIgnored) {
  auto first = Join();
  for (uint64_t trace = 1; trace <= 20; ++trace) Publish(BusBatch({{trace, 1}}));
  ASSERT_TRUE(ReadRows(*first, 20));
  auto second = Join();
  ASSERT_TRUE(ReadUntil({first.get(), second.get()}, [&] { return second->held.size() == 2; }));
  ASSERT_TRUE(ReadUntil({first.get()}, [&] { return first->held.size() == 2; }));
  std::vector<BusPosition> others;
  for (const BusPosition& at : Last(first->pieces))
    if (second->held.count(at.partition) != 0) others.push_back(at);
  ASSERT_FALSE(others.empty());
  EXPECT_TRUE(first->reader->Commit(others).ok());
  // The new holder begins at the beginning all the same, also when it is the third.
  second.reset();
  first->pieces.clear();
  ASSERT_TRUE(ReadUntil({first.get()}, [&] { return Spans(first->pieces).size() == 20; }));
}

TEST_P(BusConformance, APausedReaderGetsNothingAndStaysAMember) {
  const auto member = Join();
  ASSERT_TRUE(ReadUntil({member.get()}, [&] { return member->gained == 1; }));
  member->reader->SetFlow(BusReader::Flow::kPaused);
  ReadOnce(*member);
  for (uint64_t trace = 1; trace <= 20; ++trace) Publish(BusBatch({{trace, 1}}));
  for (int i = 0; i < 10; ++i) ReadOnce(*member);
  EXPECT_EQ(Rows(member->pieces), 0u);
  EXPECT_EQ(member->lost, 0);
  member->reader->SetFlow(BusReader::Flow::kOpen);
  ASSERT_TRUE(ReadRows(*member, 20));
  EXPECT_EQ(Spans(member->pieces).size(), 20u);
  EXPECT_EQ(Rows(member->pieces), 20u);  // each once
}

TEST_P(BusConformance, PoisonedPiecesAreCountedKeptAsideAndStopNothing) {
  Publish(BusBatch({{1, 1}}));
  for (int32_t p = 0; p < kPartitions; ++p) factory_->PutRaw(p, "no piece at all");
  std::string damaged = EncodePiece(BusBatch({{1, 2}}));
  damaged.back() ^= 1;
  factory_->PutRaw(0, damaged);
  std::string newer = EncodePiece(BusBatch({{1, 3}}));
  newer[0] = 2;
  factory_->PutRaw(0, newer);
  Publish(BusBatch({{1, 4}, {2, 4}}));
  auto member = Join();
  ASSERT_TRUE(ReadRows(*member, 3));
  ASSERT_TRUE(
      ReadUntil({member.get()}, [&] { return bus_->ReadStatus().poisoned == kPartitions + 2; }));
  EXPECT_EQ(Spans(member->pieces),
            (std::map<uint64_t, std::vector<uint64_t>>{{1, {1, 4}}, {2, {4}}}));
  std::vector<std::string> aside = factory_->Poisoned();
  EXPECT_EQ(aside.size(), static_cast<size_t>(kPartitions) + 2);
  EXPECT_EQ(std::count(aside.begin(), aside.end(), damaged), 1);
  // They are committed like any, and do not come again.
  CommitAll(*member);
  EXPECT_EQ(bus_->ReadStatus().lag, 0);
  member.reset();
  member = Join();
  Publish(BusBatch({{3, 5}}));
  ASSERT_TRUE(ReadRows(*member, 1));
  EXPECT_EQ(member->pieces.size(), 1u);
}

TEST_P(BusConformance, APieceThatCannotBeUsedIsKeptAsideWhole) {
  Publish(BusBatch({{1, 1}}, "poison"));
  const auto member = Join();
  ASSERT_TRUE(ReadRows(*member, 1));
  ASSERT_TRUE(member->reader->SetAside(member->pieces[0], "the store refuses it").ok());
  EXPECT_EQ(bus_->ReadStatus().set_aside, 1);
  const auto aside = factory_->Poisoned();
  ASSERT_EQ(aside.size(), 1u);
  const auto decoded = DecodePiece(aside[0]);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(ContentHash(*decoded, 0), ContentHash(*member->pieces[0].events, 0));
}

TEST_P(BusConformance, LargeBatchesAreCutAndLargeEventsRefused) {
  std::vector<std::pair<uint64_t, uint64_t>> rows;
  for (uint64_t span = 1; span <= 100; ++span) rows.emplace_back(1, span);
  Publish(BusBatch(rows, std::string(20'000, 'x')));  // 2 MB of one trace
  const Status refused = Send(BusBatch({{2, 1}}, std::string(9u << 20, 'y')));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  Publish(BusBatch({{3, 1}}, std::string(7u << 20, 'z')));
  const auto member = Join();
  ASSERT_TRUE(ReadRows(*member, 101));
  EXPECT_GT(member->pieces.size(), 4u);
  const auto spans = Spans(member->pieces);
  EXPECT_EQ(spans.at(1).size(), 100u);
  EXPECT_TRUE(std::is_sorted(spans.at(1).begin(), spans.at(1).end()));
  EXPECT_EQ(spans.count(2), 0u);
  EXPECT_EQ(spans.at(3).size(), 1u);
}

TEST_P(BusConformance, LagIsWhatIsNotCommitted) {
  const auto member = Join();
  ASSERT_TRUE(ReadUntil({member.get()}, [&] { return member->gained == 1; }));
  for (uint64_t trace = 1; trace <= 20; ++trace) Publish(BusBatch({{trace, 1}}));
  const auto lag_is = [&](int64_t lag) {
    return ReadUntil({member.get()}, [&] { return bus_->ReadStatus().lag == lag; });
  };
  EXPECT_TRUE(lag_is(20));
  ASSERT_TRUE(ReadRows(*member, 20));
  EXPECT_TRUE(lag_is(20));
  CommitAll(*member);
  EXPECT_TRUE(lag_is(0));
}

TEST_P(BusConformance, EveryGroupReadsEverything) {
  for (uint64_t trace = 1; trace <= 10; ++trace) Publish(BusBatch({{trace, 1}}));
  const auto tail = Join("tail"), other = Join("other");
  ASSERT_TRUE(ReadRows(*tail, 10));
  CommitAll(*tail);
  ASSERT_TRUE(ReadRows(*other, 10));
  EXPECT_EQ(Spans(other->pieces), Spans(tail->pieces));
}

TEST_P(BusConformance, NotesPassFromOneHolderToTheNext) {
  const auto open = [&](const std::vector<int32_t>& partitions) {
    auto notes = bus_->Notes("tail");
    EXPECT_TRUE(notes.ok());
    EXPECT_TRUE((*notes)->Hold(partitions).ok());
    return std::move(*notes);
  };
  const auto read = [](BusNotes& notes, size_t count) {
    std::vector<BusNote> out;
    for (const Nanos deadline = MonotonicNow() + kPatience;
         out.size() < count && MonotonicNow() < deadline;) {
      auto some = notes.Read(count - out.size());
      EXPECT_TRUE(some.ok());
      out.insert(out.end(), some->begin(), some->end());
    }
    return out;
  };
  auto notes = open({0, 1});
  EXPECT_EQ(notes->partitions(), kPartitions);
  std::vector<BusNote> put;
  for (int i = 0; i < 40; ++i) put.push_back({{i % 4, 0}, "note " + std::to_string(i)});
  ASSERT_TRUE(notes->Put(put, kPatience).ok());
  EXPECT_EQ(notes->waiting(), 20);
  auto mine = read(*notes, 20);
  ASSERT_EQ(mine.size(), 20u);
  std::map<int32_t, std::vector<std::string>> by_partition;
  for (const BusNote& note : mine) by_partition[note.at.partition].push_back(note.text);
  ASSERT_EQ(by_partition.size(), 2u);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(by_partition[1][static_cast<size_t>(i)], put[static_cast<size_t>(i * 4 + 1)].text);
  EXPECT_TRUE(notes->Read(10)->empty());
  // The first five of partition 0 are done.
  int64_t fifth = 0;
  for (const BusNote& note : mine)
    if (note.text == "note 16") fifth = note.at.offset;
  ASSERT_TRUE(notes->Commit({{0, fifth}}).ok());
  EXPECT_EQ(notes->waiting(), 15);
  ASSERT_TRUE(notes->Hold({}).ok());
  EXPECT_TRUE(notes->Read(10)->empty());

  auto next = open({0, 2});
  const auto found = read(*next, 15);
  ASSERT_EQ(found.size(), 15u);
  std::set<std::string> texts;
  for (const BusNote& note : found) texts.insert(note.text);
  EXPECT_EQ(texts.count("note 16"), 0u);
  EXPECT_EQ(texts.count("note 20"), 1u);
  EXPECT_EQ(texts.count("note 2"), 1u);
  EXPECT_EQ(texts.count("note 1"), 0u);
  EXPECT_TRUE(next->Read(10)->empty());
}

TEST_P(BusConformance, AnIdleBusAnswersAndEnds) {
  EXPECT_TRUE(bus_->Check().ok());
  EXPECT_TRUE(publisher_->Drain(kSecond).ok());
  Publish(EventBatch());
  const auto member = Join();
  const auto nothing = member->reader->Read(10 * kMilli);
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->empty());
}

}  // namespace wf::bus
