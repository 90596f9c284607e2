// What sightings go through between their file and whoever asks for them: order, renames, skew, doubles, losses.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>

#include "import/messages/duplicate_filter.h"
#include "import/messages/merged_sightings.h"
#include "import/messages/node_changes.h"
#include "import/messages/sighting_sorter.h"
#include "import/messages/sniffer.h"

namespace wf::messages {
namespace {

SightingLine Line(Nanos time, uint64_t number) {
  SightingLine line;
  line.sighting.time_ns = time;
  line.sighting.place = {1, number};
  line.id = std::to_string(number);
  line.sighting.path = number % 3;
  return line;
}

std::vector<Nanos> Sorted(const std::vector<Nanos>& times, Nanos window, uint64_t* late = nullptr) {
  SightingSorter sorter(window, 0, SightingSorter::Texts::kKeep);
  std::vector<Nanos> out;
  std::vector<std::pair<Nanos, uint64_t>> keys;
  SightingLine line;
  const auto take = [&] {
    while (sorter.Ready()) {
      sorter.Pop(line);
      EXPECT_EQ(line.id, std::to_string(line.sighting.place.line));
      EXPECT_EQ(line.sighting.path, line.sighting.place.line % 3);
      out.push_back(line.sighting.time_ns);
    }
  };
  for (size_t i = 0; i < times.size(); ++i) {
    sorter.Push(Line(times[i], i + 1), times[i]);
    take();
  }
  sorter.Finish();
  take();
  EXPECT_TRUE(sorter.empty());
  if (late != nullptr) *late = sorter.late();
  return out;
}

TEST(SightingSorter, LinesWithinTheWindowAreSortedIn) {
  uint64_t late = 9;
  EXPECT_EQ(Sorted({100, 90, 105, 95}, 10, &late), (std::vector<Nanos>{90, 95, 100, 105}));
  EXPECT_EQ(late, 0u);
}

TEST(SightingSorter, WhatIsLaterComesOutAsSoonAsItCanAndIsCounted) {
  uint64_t late = 9;
  EXPECT_EQ(Sorted({100, 120, 89, 130}, 10, &late), (std::vector<Nanos>{100, 89, 120, 130}));
  EXPECT_EQ(late, 1u);
}

RC_GTEST_PROP(SightingSorter, EverythingWithinTheWindowIsInOrder, ()) {
  const Nanos window = *rc::gen::inRange<Nanos>(0, 200);
  const size_t n = *rc::gen::inRange<size_t>(0, 300);
  std::vector<Nanos> times;
  Nanos latest = 0;
  for (size_t i = 0; i < n; ++i) {
    latest += *rc::gen::inRange<Nanos>(0, 20);
    times.push_back(latest - (window == 0 ? 0 : *rc::gen::inRange<Nanos>(0, window + 1)));
  }
  // Time never runs further back than the window behind the latest *seen*, which is at most `latest`.
  uint64_t late = 9;
  const std::vector<Nanos> out = Sorted(times, window, &late);
  RC_ASSERT(late == 0u);
  RC_ASSERT(std::is_sorted(out.begin(), out.end()));
  std::sort(times.begin(), times.end());
  RC_ASSERT(out == times);
}

RC_GTEST_PROP(SightingSorter, NothingIsLostWhateverTheOrder, (std::vector<int16_t> drawn)) {
  std::vector<Nanos> times(drawn.begin(), drawn.end());
  std::vector<Nanos> out = Sorted(times, 1000);
  std::sort(times.begin(), times.end());
  std::sort(out.begin(), out.end());
  RC_ASSERT(out == times);
}

TEST(SightingSorter, AFileInReverseIsNoTrouble) {
  std::vector<Nanos> times;
  for (Nanos t = 100'000; t > 0; --t) times.push_back(t);
  const std::vector<Nanos> out = Sorted(times, 1'000'000);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
  EXPECT_EQ(out.size(), times.size());
}

TEST(SightingSorter, AShiftedClockGetsTheRoomItNeeds) {
  SightingSorter sorter(10, -50, SightingSorter::Texts::kDrop);
  sorter.Push(Line(100, 1), 100);
  sorter.Push(Line(120, 2), 120);
  EXPECT_FALSE(sorter.Ready());  // one of time 120 may still be moved to 70
  sorter.Push(Line(70, 3), 120);
  sorter.Push(Line(200, 4), 200);
  std::vector<Nanos> out;
  SightingLine line;
  for (sorter.Finish(); sorter.Ready();) {
    sorter.Pop(line);
    out.push_back(line.sighting.time_ns);
  }
  EXPECT_EQ(out, (std::vector<Nanos>{70, 100, 120, 200}));
  EXPECT_EQ(sorter.late(), 0u);
}

Sighting Of(Nanos time, MessageKind kind, NodeId from, NodeId to, uint64_t id,
            SightedBy by = SightedBy::kCommon) {
  Sighting s;
  s.time_ns = time;
  s.kind = kind;
  s.sender = from;
  s.receiver = to;
  s.id = id;
  s.by = by;
  return s;
}
constexpr auto kCall = MessageKind::kCall;
constexpr auto kReturn = MessageKind::kReturn;
constexpr auto kMessage = MessageKind::kMessage;

TEST(DuplicateFilter, TheSameFromAnotherFileUntilTheReturn) {
  DuplicateFilter filter(100);
  EXPECT_FALSE(filter.IsDuplicate(Of(1, kCall, 1, 2, 7), 1));
  EXPECT_TRUE(filter.IsDuplicate(Of(2, kCall, 1, 2, 7), 2));
  EXPECT_FALSE(filter.IsDuplicate(Of(3, kCall, 1, 2, 7), 1));  // a retransmission
  EXPECT_TRUE(filter.IsDuplicate(Of(4, kCall, 1, 2, 7), 2));
  EXPECT_FALSE(filter.IsDuplicate(Of(5, kCall, 1, 2, 8), 2));  // another id
  EXPECT_FALSE(filter.IsDuplicate(Of(5, kCall, 2, 1, 7), 2));  // the other way
  EXPECT_FALSE(filter.IsDuplicate(Of(6, kReturn, 2, 1, 7), 2));
  EXPECT_TRUE(filter.IsDuplicate(Of(7, kReturn, 2, 1, 7), 1));
  EXPECT_FALSE(filter.IsDuplicate(Of(8, kCall, 1, 2, 7), 2));  // the id is used again
  EXPECT_TRUE(filter.IsDuplicate(Of(9, kCall, 1, 2, 7), 1));
  EXPECT_FALSE(filter.IsDuplicate(Of(10, kReturn, 2, 1, 7), 1));
  EXPECT_EQ(filter.duplicates(), 4u);
}

TEST(DuplicateFilter, EachEndsSightingsAreNotTheSame) {
  DuplicateFilter filter(100);
  EXPECT_FALSE(filter.IsDuplicate(Of(1, kCall, 1, 2, 7, SightedBy::kSender), 1));
  EXPECT_FALSE(filter.IsDuplicate(Of(2, kCall, 1, 2, 7, SightedBy::kReceiver), 2));
  EXPECT_FALSE(filter.IsDuplicate(Of(3, kReturn, 2, 1, 7, SightedBy::kSender), 2));
  EXPECT_FALSE(filter.IsDuplicate(Of(4, kReturn, 2, 1, 7, SightedBy::kReceiver), 1));
}

TEST(DuplicateFilter, SniffersWhoseClocksDifferByMoreThanACall) {
  DuplicateFilter filter(100);
  const auto on = [](uint64_t conn, Sighting s) {
    s.conn = conn;
    return s;
  };
  EXPECT_FALSE(filter.IsDuplicate(on(5, Of(1, kCall, 1, 2, 7)), 1));
  EXPECT_FALSE(filter.IsDuplicate(on(5, Of(2, kReturn, 2, 1, 7)), 1));
  EXPECT_TRUE(filter.IsDuplicate(on(5, Of(50, kCall, 1, 2, 7)), 2));
  EXPECT_TRUE(filter.IsDuplicate(on(5, Of(51, kReturn, 2, 1, 7)), 2));
  EXPECT_FALSE(filter.IsDuplicate(on(5, Of(60, kCall, 1, 2, 7)), 2));  // used again
  EXPECT_FALSE(filter.IsDuplicate(on(5, Of(61, kReturn, 2, 1, 7)), 2));
  EXPECT_FALSE(filter.IsDuplicate(on(6, Of(62, kCall, 1, 2, 7)), 3));  // another connection
  EXPECT_FALSE(filter.IsDuplicate(on(6, Of(63, kReturn, 2, 1, 7)), 3));
  EXPECT_FALSE(filter.IsDuplicate(on(6, Of(300, kCall, 1, 2, 7)), 1));  // long ago
}

TEST(DuplicateFilter, OneWayMessagesWithinTheWindow) {
  DuplicateFilter filter(100);
  EXPECT_FALSE(filter.IsDuplicate(Of(1, kMessage, 1, 2, 7), 1));
  EXPECT_TRUE(filter.IsDuplicate(Of(50, kMessage, 1, 2, 7), 2));
  EXPECT_FALSE(filter.IsDuplicate(Of(60, kMessage, 1, 2, 7), 1));
  EXPECT_FALSE(filter.IsDuplicate(Of(500, kMessage, 1, 2, 7), 2));
}

TEST(DuplicateFilter, UnknownIdsOnlyWhenTheLinesAreEqual) {
  DuplicateFilter filter(100);
  EXPECT_FALSE(filter.IsDuplicate(Of(1, kCall, 1, 2, 0), 1));
  EXPECT_FALSE(filter.IsDuplicate(Of(2, kCall, 1, 2, 0), 2));
  EXPECT_TRUE(filter.IsDuplicate(Of(2, kCall, 1, 2, 0), 1));
}

TEST(DuplicateFilter, ForgetsWhatIsOverAndKeepsWhatIsOpen) {
  DuplicateFilter filter(100);
  EXPECT_FALSE(filter.IsDuplicate(Of(0, kCall, 1, 2, 1), 1));  // never returns
  for (uint64_t i = 2; i < 50'000; ++i) {
    const auto t = static_cast<Nanos>(i * 10);
    EXPECT_FALSE(filter.IsDuplicate(Of(t, kCall, 1, 2, i), 1));
    EXPECT_TRUE(filter.IsDuplicate(Of(t + 1, kCall, 1, 2, i), 2));
    EXPECT_FALSE(filter.IsDuplicate(Of(t + 2, kReturn, 2, 1, i), 1));
    EXPECT_TRUE(filter.IsDuplicate(Of(t + 3, kReturn, 2, 1, i), 2));
  }
  EXPECT_TRUE(filter.IsDuplicate(Of(500'010, kCall, 1, 2, 1), 2));
}

TEST(NodeChanges, RenamesAndMovesOwnClocksOnly) {
  StringTable nodes;
  const NodeId a = nodes.Intern("10.0.0.1"), b = nodes.Intern("b");
  NodeChanges changes({{"10.0.0.1", "a"}}, {{"a", 50}, {"b", -20}, {"c", 1}}, nodes);
  EXPECT_EQ(changes.least_shift(), -20);
  Sighting plain = Of(100, kCall, a, b, 1);
  changes.Apply(plain);
  EXPECT_EQ(nodes.At(plain.sender), "a");
  EXPECT_EQ(plain.time_ns, 100);
  Sighting sent = Of(100, kCall, a, b, 1, SightedBy::kSender);
  changes.Apply(sent);
  EXPECT_EQ(sent.time_ns, 150);
  Sighting received = Of(100, kCall, a, b, 1, SightedBy::kReceiver);
  changes.Apply(received);
  EXPECT_EQ(received.time_ns, 80);
  EXPECT_EQ(changes.Unmoved(), std::vector<std::string>{"c"});
}

TEST(NodeChanges, RenameFileErrorsNameTheLine) {
  const std::string path = testing::TempDir() + "/renames.txt";
  std::ofstream(path) << "# names\n\n10.0.0.1 a\nb\n";
  const auto renames = ReadRenames(path);
  ASSERT_FALSE(renames.ok());
  EXPECT_EQ(renames.error().message, path + ":4: not `old new`");
  EXPECT_FALSE(ReadRenames(path + ".not").ok());
}

TEST(Sniffer, LosesWhatOverflowsItsQueue) {
  Sniffer sniffer(1000, 2);  // one a millisecond, two may wait
  std::vector<bool> taken;
  for (int i = 0; i < 6; ++i) taken.push_back(sniffer.Takes(0));
  EXPECT_EQ(taken, (std::vector<bool>{true, true, true, false, false, false}));
  EXPECT_TRUE(sniffer.Takes(kMilli));  // one is done
  EXPECT_FALSE(sniffer.Takes(kMilli));
  EXPECT_TRUE(sniffer.Takes(kSecond));
}

TEST(Sniffer, TakesEverythingBelowItsRate) {
  Sniffer sniffer(1000, 0);
  for (Nanos t = 0; t < 1000; ++t) EXPECT_TRUE(sniffer.Takes(t * kMilli));
}

class VectorSource : public SightingSource {
 public:
  explicit VectorSource(std::vector<Nanos> times) : times_(std::move(times)) {}
  Result<bool> Next(SightingLine& line) override {
    if (at_ == times_.size()) return false;
    line.sighting.time_ns = times_[at_++];
    return true;
  }

 private:
  std::vector<Nanos> times_;
  size_t at_ = 0;
};

RC_GTEST_PROP(MergedSightings, OrderOfTimeThenOfSource, (std::vector<std::vector<int8_t>> drawn)) {
  std::vector<VectorSource> sources;
  std::vector<std::pair<Nanos, size_t>> wanted;
  for (size_t i = 0; i < drawn.size(); ++i) {
    std::vector<Nanos> times(drawn[i].begin(), drawn[i].end());
    std::sort(times.begin(), times.end());
    for (const Nanos t : times) wanted.emplace_back(t, i);
    sources.emplace_back(times);
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<SightingSource*> pointers;
  for (VectorSource& source : sources) pointers.push_back(&source);
  MergedSightings merged(pointers);
  std::vector<std::pair<Nanos, size_t>> found;
  SightingLine line;
  size_t source = 0;
  while (*merged.Next(line, source)) found.emplace_back(line.sighting.time_ns, source);
  RC_ASSERT(found == wanted);
}

}  // namespace
}  // namespace wf::messages
