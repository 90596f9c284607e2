// Lines, snapshots, and what travels between them. Every test packs plain integers, so that what a line sees is a bag
// of integers that can be written down.
#include "client/baggage/baggage_line.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "client/baggage/baggage_counts.h"

namespace wherefore::client {
namespace {

using wf::advice::Aggregate;
using wf::advice::AggregateKind;
using wf::advice::AggregateState;
using wf::advice::Keep;
using wf::advice::PackedTuples;
using wf::advice::Rows;
using wf::advice::Slot;
using wf::advice::Value;

constexpr uint64_t kQuery = 0x1122334455667788;
using Bag = std::multiset<int64_t>;
using SnapshotPointer = std::shared_ptr<const BaggageSnapshot>;

Slot All() {
  Slot slot;
  slot.columns = 1;
  return slot;
}
Slot Kept(Keep keep, uint32_t limit) {
  Slot slot = All();
  slot.keep = keep;
  slot.limit = limit;
  return slot;
}
Slot Counting() {
  Slot slot;
  slot.aggregates.push_back({AggregateKind::kCount, 0});
  return slot;
}

Rows Row(Value value) {
  Rows rows(1, 0);
  rows.AddColumn(std::move(value));
  rows.EndRow(1);
  return rows;
}
Rows OneCounted() {
  Rows rows(0, 1);
  AggregateState state(AggregateKind::kCount);
  state.Add(true, 1);
  rows.AddState(std::move(state));
  rows.EndRow(1);
  return rows;
}

PackResult Pack(BaggageLine& line, int64_t value, const Slot& slot = All(), int64_t time = 0,
                uint64_t query = kQuery, const PackLimits& limits = {}) {
  return line.Pack(query, 0, slot, limits, time, "e" + std::to_string(value), Row(value));
}
Bag Unpack(BaggageLine& line, const Slot& slot = All(), uint64_t query = kQuery) {
  const PackedTuples tuples = line.Unpack(query, 0, slot);
  Bag bag;
  for (size_t row = 0; row < tuples.rows().size(); ++row) {
    for (uint64_t i = 0; i < tuples.rows().weight(row); ++i)
      bag.insert(std::get<int64_t>(tuples.rows().columns(row)[0]));
  }
  return bag;
}
int64_t Counted(BaggageLine& line) {
  const PackedTuples tuples = line.Unpack(kQuery, 0, Counting());
  if (tuples.rows().empty()) return 0;
  return std::get<int64_t>(tuples.rows().states(0)[0].Finish({AggregateKind::kCount, 0}));
}
// As another process would have it.
BaggageLine Received(BaggageLine& from) {
  const auto snapshot = from.Freeze();
  return BaggageLine(snapshot == nullptr ? nullptr
                                         : BaggageSnapshot::FromBytes(*snapshot->Bytes()));
}
HeaderTexts HeaderOf(const SnapshotPointer& snapshot) {
  return snapshot->Header(kMaxBaggageHeader, kMaxBaggageMembers);
}

TEST(BaggageLine, EmptyIsNoBytes) {
  BaggageLine line;
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(line.Freeze(), nullptr);
  EXPECT_EQ(Unpack(line), Bag());
}

TEST(BaggageLine, WhatWasPackedArrives) {
  BaggageLine line;
  Pack(line, 1);
  Pack(line, 2);
  Pack(line, 2);
  EXPECT_EQ(Unpack(line), Bag({1, 2, 2}));
  BaggageLine there = Received(line);
  EXPECT_EQ(Unpack(there), Bag({1, 2, 2}));
  EXPECT_EQ(Unpack(line), Bag({1, 2, 2})) << "serialising takes nothing away";
}

TEST(BaggageLine, ManyTuplesAreToldApart) {
  constexpr PackLimits kMuch = {100'000, 1'000'000};
  // More bytes than may travel, of which only the first are kept as bytes.
  constexpr int64_t kMany = 30'000;
  BaggageLine line;
  Bag packed;
  const auto pack = [&](int64_t value) {
    ASSERT_EQ(Pack(line, value, All(), 0, kQuery, kMuch), PackResult::kPacked);
    packed.insert(value);
  };
  const auto different = [&] { return line.Unpack(kQuery, 0, All()).rows().size(); };
  for (int64_t i = 0; i < kMany; ++i) {
    pack(i * 7919);
    if (i == 3000) {
      EXPECT_EQ(different(), 3001u);
    }
  }
  EXPECT_EQ(different(), size_t{kMany});
  EXPECT_EQ(Unpack(line), packed);
  for (int64_t i = 0; i < kMany; i += 100) pack(i * 7919);
  EXPECT_EQ(different(), size_t{kMany}) << "equal ones become one";
  EXPECT_EQ(Unpack(line), packed);
}

TEST(BaggageLine, AnEqualTupleAmongManyIsFound) {
  for (const int64_t many : {8, 9, 33, 129, 256, 2000}) {
    for (const int64_t again : {int64_t{0}, many / 2, many - 1}) {
      BaggageLine line;
      const PackLimits limits = {static_cast<uint32_t>(many), 1'000'000};
      for (int64_t i = 0; i < many; ++i) Pack(line, i * i, All(), 0, kQuery, limits);
      EXPECT_EQ(Pack(line, again * again, All(), 0, kQuery, limits), PackResult::kPacked)
          << again << " of " << many;
      EXPECT_EQ(line.HeldBy(kQuery).tuples, static_cast<uint32_t>(many));
    }
  }
}

TEST(BaggageLine, UnmodifiedTravelsByteForByteAndUnparsed) {
  BaggageLine line;
  Pack(line, 7);
  const HeaderTexts sent = HeaderOf(line.Freeze());
  // A text that no decoder would take passes as well: nobody looked.
  for (const HeaderTexts& texts : {sent, HeaderTexts{"!not base64!", ""}}) {
    BaggageLine hop(BaggageSnapshot::FromTexts(texts));
    const HeaderTexts out = HeaderOf(hop.Freeze());
    EXPECT_EQ(out.first, texts.first);
    EXPECT_EQ(out.second, texts.second);
  }
  // One that was read, and not changed, too.
  BaggageLine reader(BaggageSnapshot::FromTexts(sent));
  EXPECT_EQ(Unpack(reader), Bag({7}));
  EXPECT_EQ(HeaderOf(reader.Freeze()).first, sent.first);
}

TEST(BaggageLine, BranchesSeeEachOtherOnlyAfterTheyRejoin) {
  BaggageLine main;
  Pack(main, 1);
  BaggageLine branch(main.Freeze());
  Pack(main, 2);
  Pack(branch, 3);
  EXPECT_EQ(Unpack(main), Bag({1, 2}));
  EXPECT_EQ(Unpack(branch), Bag({1, 3}));
  main.Join(branch.Freeze());
  EXPECT_EQ(Unpack(main), Bag({1, 2, 3})) << "what both had is there once";
}

TEST(BaggageLine, CopiesOfOneInstanceCountOnce) {
  BaggageLine a;
  Pack(a, 1);
  // A hop that knows nothing of us calls two services with the same header, and one of them packs.
  BaggageLine b = Received(a), c = Received(a);
  Pack(c, 2);
  BaggageLine d = Received(b);
  d.Join(BaggageSnapshot::FromBytes(*c.Freeze()->Bytes()));
  EXPECT_EQ(Unpack(d), Bag({1, 2}));
  a.Join(BaggageSnapshot::FromBytes(*d.Freeze()->Bytes()));
  EXPECT_EQ(Unpack(a), Bag({1, 2}));
}

TEST(BaggageLine, AggregatesOfCopiesAreNotCountedTwice) {
  BaggageLine a;
  for (int i = 0; i < 5; ++i) a.Pack(kQuery, 0, Counting(), {}, 0, "", OneCounted());
  BaggageLine b = Received(a), c = Received(a);
  b.Pack(kQuery, 0, Counting(), {}, 0, "", OneCounted());
  c.Pack(kQuery, 0, Counting(), {}, 0, "", OneCounted());
  a.Join(BaggageSnapshot::FromBytes(*b.Freeze()->Bytes()));
  a.Join(BaggageSnapshot::FromBytes(*c.Freeze()->Bytes()));
  EXPECT_EQ(Counted(a), 7);
}

TEST(BaggageLine, AnInstanceThatWasHandedOnIsFrozen) {
  BaggageLine line;
  Pack(line, 1);
  BaggageLine first = Received(line);
  Pack(line, 2);
  BaggageLine second = Received(line);
  EXPECT_EQ(Unpack(first), Bag({1}));
  EXPECT_EQ(Unpack(second), Bag({1, 2}));
  EXPECT_EQ(line.instances(), 2u);
}

TEST(BaggageLine, OurOwnBranchesFoldIntoOneInstance) {
  BaggageLine main;
  Pack(main, 1);
  for (int i = 0; i < 10; ++i) {
    BaggageLine branch(main.Freeze());
    Pack(branch, 10 + i);
    Pack(main, 20 + i);
    auto result = branch.Finish();
    branch = BaggageLine();
    main.Join(std::move(result));
    EXPECT_EQ(main.instances(), 0u) << "all is active again";
  }
  EXPECT_EQ(Unpack(main).size(), 21u);
}

TEST(BaggageLine, WhatLeftTheProcessOrIsHeldElsewhereIsNotFolded) {
  BaggageLine main;
  Pack(main, 1);
  BaggageLine branch(main.Freeze());
  Pack(branch, 2);
  BaggageLine remote = Received(branch);
  const auto result = branch.Finish();
  branch = BaggageLine();
  main.Join(result);  // `result` still holds it
  EXPECT_EQ(main.instances(), 2u);
  Pack(remote, 3);
  main.Join(BaggageSnapshot::FromBytes(*remote.Freeze()->Bytes()));
  EXPECT_EQ(Unpack(main), Bag({1, 2, 3}));
}

TEST(BaggageLine, FirstKeepsTheFirstOfAllHops) {
  const Slot first = Kept(Keep::kFirst, 1);
  BaggageLine line;
  Pack(line, 1, first, 100);
  BaggageLine there = Received(line);
  Pack(there, 2, first, 50);  // its clock is behind, but it comes after
  EXPECT_EQ(Unpack(there, first), Bag({1}));
  EXPECT_EQ(there.Freeze()->Bytes()->size(), line.Freeze()->Bytes()->size()) << "not packed at all";
}

TEST(BaggageLine, MostRecentCarriesOneTupleHoweverManyHops) {
  const Slot recent = Kept(Keep::kMostRecent, 1);
  BaggageLine line;
  size_t bytes = 0;
  for (int hop = 0; hop < 20; ++hop) {
    Pack(line, hop, recent, 1000 - hop);  // clocks run backwards
    EXPECT_EQ(Unpack(line, recent), Bag({hop}));
    const size_t now = line.Freeze()->Bytes()->size();
    if (hop > 0) {
      EXPECT_LE(now, bytes + 4);
    }
    bytes = now;
    line = Received(line);
  }
}

TEST(BaggageLine, PastItsLimitAQueryIsMarkedAndCounted) {
  TakeOverflowMarks();
  const uint64_t before = Counts().overflowed.load();
  PackLimits limits;
  limits.tuples = 3;
  BaggageLine line;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(Pack(line, i, All(), 0, kQuery, limits), PackResult::kPacked);
  EXPECT_EQ(Pack(line, 2, All(), 0, kQuery, limits), PackResult::kPacked) << "an equal one fits";
  EXPECT_FALSE(line.Overflowed(kQuery));
  EXPECT_EQ(Pack(line, 9, All(), 0, kQuery, limits), PackResult::kOverflowed);
  EXPECT_EQ(Pack(line, 9, All(), 0, kQuery, limits), PackResult::kOverflowed);
  EXPECT_EQ(Unpack(line), Bag({0, 1, 2, 2}));
  EXPECT_EQ(Pack(line, 1, All(), 0, kQuery + 1, limits), PackResult::kPacked) << "another query";
  BaggageLine there = Received(line);
  EXPECT_TRUE(there.Overflowed(kQuery));
  EXPECT_FALSE(there.Overflowed(kQuery + 1));
  EXPECT_EQ(Pack(there, 5, All(), 0, kQuery, limits), PackResult::kOverflowed);
  EXPECT_EQ(Counts().overflowed.load() - before, 1u) << "a request counts once";
  const auto marks = TakeOverflowMarks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].first, kQuery);
}

TEST(BaggageLine, TheLimitOfBytesIsOfWhatTravels) {
  PackLimits limits;
  limits.bytes = 100;
  BaggageLine line;
  int packed = 0;
  while (line.Pack(kQuery, 0, All(), limits, 0, "", Row(std::string(20, char('a' + packed)))) ==
         PackResult::kPacked) {
    ++packed;
  }
  EXPECT_EQ(packed, 4);
  EXPECT_LE(line.HeldBy(kQuery).bytes, 100u);
}

TEST(BaggageLine, WhatTravelsIsCountedWithItsFrame) {
  BaggageLine line;
  EXPECT_EQ(line.TravellingBytesOf(kQuery), 0u);
  const auto check = [&](const char* when) {
    EXPECT_EQ(line.TravellingBytesOf(kQuery), line.Serialize().size()) << when;
  };
  Pack(line, 1);
  check("numbers");
  for (int64_t value = 2; value <= 100; ++value) Pack(line, value);
  check("into the next instance: what was sent is frozen");
  line.Pack(kQuery, 3, All(), {}, 0, "e", Row(std::string(200, 'x')));
  check("texts in another slot");
  BaggageLine received(BaggageSnapshot::FromBytes(line.Serialize()));
  Pack(received, 101, Kept(Keep::kMostRecent, 1));
  line = std::move(received);
  check("in another process");
  BaggageLine branch(line.Freeze());
  Pack(branch, 102);
  Pack(line, 103);
  line.Join(branch.Finish());
  check("after a branch came back");
  // Another query is not ours.
  const size_t before = line.TravellingBytesOf(kQuery);
  Pack(line, 1, All(), 0, kQuery + 1);
  EXPECT_EQ(line.TravellingBytesOf(kQuery), before);
  BaggageLine both(BaggageSnapshot::FromBytes(line.Serialize()));
  EXPECT_EQ(both.TravellingBytesOf(kQuery), before);
}

TEST(BaggageLine, UnknownQueriesTravelOnUntouched) {
  BaggageLine line;
  Pack(line, 1, All(), 0, kQuery + 5);
  BaggageLine there = Received(line);
  Pack(there, 2);
  BaggageLine further = Received(there);
  EXPECT_EQ(Unpack(further, All(), kQuery + 5), Bag({1}));
  EXPECT_EQ(Unpack(further), Bag({2}));
}

TEST(BaggageLine, TheResponseHoldsOnlyWhatTheCallerDoesNotHave) {
  BaggageLine caller;
  Pack(caller, 1);
  const auto sent = BaggageSnapshot::FromBytes(*caller.Freeze()->Bytes());
  BaggageLine callee(sent);
  EXPECT_EQ(callee.FreezeSince(sent), nullptr);
  EXPECT_EQ(Unpack(callee), Bag({1}));
  EXPECT_EQ(callee.FreezeSince(sent), nullptr) << "reading is no change";
  Pack(callee, 2);
  const auto response = callee.FreezeSince(sent);
  BaggageLine alone(response);
  EXPECT_EQ(Unpack(alone), Bag({2}));
  caller.Join(BaggageSnapshot::FromBytes(*response->Bytes()));
  EXPECT_EQ(Unpack(caller), Bag({1, 2}));
}

// --- Header

TEST(BaggageHeader, LargeBaggageTakesTwoMembersAndNoMore) {
  BaggageLine line;
  PackLimits wide{100'000, 100'000};
  size_t value = 0;
  while (value < 400) {
    line.Pack(kQuery, 0, All(), wide, 0, "", Row("value " + std::to_string(value++)));
  }
  const HeaderTexts texts = HeaderOf(line.Freeze());
  EXPECT_LE(texts.first.size() + 3, kMaxBaggageMember);
  EXPECT_LE(texts.second.size() + 4, kMaxBaggageMember);
  EXPECT_FALSE(texts.second.empty());
  EXPECT_EQ(texts.first.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789-_"),
            std::string::npos);
  BaggageLine there(BaggageSnapshot::FromTexts(texts));
  EXPECT_EQ(there.Unpack(kQuery, 0, All()).tuple_count(), value);
  // Somebody drops the second member: what is left says so.
  const uint64_t cut = Counts().cut.load();
  BaggageLine half(BaggageSnapshot::FromTexts({texts.first, ""}));
  EXPECT_TRUE(half.Unpack(kQuery, 0, All()).empty());
  EXPECT_TRUE(half.Overflowed(kQuery));
  EXPECT_EQ(Counts().cut.load(), cut + 1);
}

TEST(BaggageHeader, WhatDoesNotFitIsLeftOutByQueryAndMarked) {
  TakeOverflowMarks();
  BaggageLine line;
  Pack(line, 1, All(), 0, kQuery + 1);
  for (int i = 0; i < 200; ++i) Pack(line, 1'000'000'007ll * i);
  const auto snapshot = line.Freeze();
  const HeaderTexts texts = snapshot->Header(200, 2);
  EXPECT_LE(texts.size(), 200u);
  BaggageLine there(BaggageSnapshot::FromTexts(texts));
  EXPECT_EQ(Unpack(there, All(), kQuery + 1), Bag({1}));
  EXPECT_EQ(Unpack(there), Bag());
  EXPECT_TRUE(there.Overflowed(kQuery));
  EXPECT_FALSE(there.Overflowed(kQuery + 1));
  const auto marks = TakeOverflowMarks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].first, kQuery);
  // Nearly no room: the mark alone. None: nothing.
  BaggageLine marked(BaggageSnapshot::FromTexts(snapshot->Header(12, 2)));
  EXPECT_TRUE(marked.Overflowed(kQuery));
  EXPECT_TRUE(snapshot->Header(3, 2).empty());
  EXPECT_TRUE(snapshot->Header(8192, 0).empty());
}

// What a line should show, kept as plainly as can be: what was packed into a bag, how much was counted, and the events
// that First and MostRecent keep.
struct Model {
  using Event = std::tuple<int64_t, std::string, int64_t>;  // adjusted time, id, value
  Bag bag;                                                  // of numbers that differ
  std::set<int64_t> counted;
  std::optional<Event> first, latest;

  void Merge(const Model& other) {
    for (const int64_t value : other.bag)
      if (bag.count(value) == 0) bag.insert(value);
    counted.insert(other.counted.begin(), other.counted.end());
    if (other.first && (!first || *other.first < *first)) first = other.first;
    if (other.latest && (!latest || *latest < *other.latest)) latest = other.latest;
  }
};

class RandomRequest {
 public:
  void Work(BaggageLine& line, Model& model, int depth) {
    for (int steps = *rc::gen::inRange(0, 7); steps > 0; --steps) {
      switch (*rc::gen::inRange(0, depth > 0 ? 7 : 3)) {
        case 0:
          PackOne(line, model);
          break;
        case 1:
          PackKept(line, model);
          break;
        case 2:
          Look(line, model);
          break;
        case 3:
          Call(line, model, depth);
          break;
        case 4:
          CallTwo(line, model, depth);
          break;
        case 5:
          Branch(line, model, depth);
          break;
        default:
          (void)Sent(line);  // and no answer
      }
    }
    Look(line, model);
  }

 private:
  static constexpr uint64_t kTexts = 31, kCounts = 32, kFirsts = 33, kLatests = 34;
  static constexpr PackLimits kMuch = {100'000, 1'000'000};

  void PackOne(BaggageLine& line, Model& model) {
    const int64_t value = ++last_;
    RC_ASSERT(Pack(line, value, All(), 0, kQuery, kMuch) == PackResult::kPacked);
    // The same as text, often the same length and beginning.
    line.Pack(kTexts, 0, All(), kMuch, 0, {}, Row("text " + std::to_string(value)));
    line.Pack(kCounts, 0, Counting(), kMuch, 0, {}, OneCounted());
    model.bag.insert(value);
    model.counted.insert(value);
  }
  void PackKept(BaggageLine& line, Model& model) {
    const int64_t value = ++last_, time = *rc::gen::inRange(0, 4);
    const std::string id = "e" + std::to_string(value);
    line.Pack(kFirsts, 0, Kept(Keep::kFirst, 1), kMuch, time, id, Row(value));
    line.Pack(kLatests, 0, Kept(Keep::kMostRecent, 1), kMuch, time, id, Row(value));
    if (!model.first) model.first = {time, id, value};
    const int64_t adjusted = model.latest ? std::max(time, std::get<0>(*model.latest) + 1) : time;
    model.latest = {adjusted, id, value};
  }
  static void Look(BaggageLine& line, const Model& model) {
    RC_ASSERT(Unpack(line) == model.bag);
    const PackedTuples texts = line.Unpack(kTexts, 0, All());
    RC_ASSERT(texts.rows().size() == model.bag.size());
    for (size_t row = 0; row < texts.rows().size(); ++row) {
      const auto& text = std::get<std::string>(texts.rows().columns(row)[0]);
      RC_ASSERT(model.bag.count(std::stoll(text.substr(5))) == 1u);
    }
    const PackedTuples counted = line.Unpack(kCounts, 0, Counting());
    RC_ASSERT(counted.rows().empty() == model.counted.empty());
    if (!counted.rows().empty())
      RC_ASSERT(std::get<int64_t>(counted.rows().states(0)[0].Finish({AggregateKind::kCount, 0})) ==
                static_cast<int64_t>(model.counted.size()));
    Same(line.Unpack(kFirsts, 0, Kept(Keep::kFirst, 1)), model.first);
    Same(line.Unpack(kLatests, 0, Kept(Keep::kMostRecent, 1)), model.latest);
  }
  static void Same(const PackedTuples& tuples, const std::optional<Model::Event>& event) {
    RC_ASSERT(tuples.events().size() == (event ? 1u : 0u));
    if (!event) return;
    RC_ASSERT(tuples.events()[0].adjusted_time == std::get<0>(*event));
    RC_ASSERT(tuples.events()[0].id == std::get<1>(*event));
    RC_ASSERT(std::get<int64_t>(tuples.rows().columns(0)[0]) == std::get<2>(*event));
  }
  // As a string, or at the end of a message: the same, as often as it is asked for.
  static std::string Sent(BaggageLine& line) {
    std::string message = "to: ";
    const auto append = [&] {
      if (*rc::gen::arbitrary<bool>()) {
        message += line.Serialize();
      } else {
        line.AppendTo(message);
      }
    };
    append();
    const std::string once = message.substr(4);
    append();
    RC_ASSERT(message == "to: " + once + once);
    return once;
  }
  // What somebody else makes of these bytes.
  std::string Answered(const std::string& bytes, Model& model, int depth) {
    BaggageLine there;
    if (*rc::gen::arbitrary<bool>()) {
      there.Receive(bytes);
    } else if (!bytes.empty()) {
      there.JoinBytes(bytes);
    }
    Work(there, model, depth - 1);
    std::string answer = Sent(there);
    there.Reset();
    RC_ASSERT(there.empty() && there.Serialize().empty());
    return answer;
  }
  static void JoinAnswer(BaggageLine& line, const std::string& answer) {
    if (answer.empty()) return;
    if (*rc::gen::inRange(0, 4) != 0) {
      line.JoinBytes(answer);
    } else {
      line.Join(BaggageSnapshot::FromBytes(answer));
    }
  }
  void Call(BaggageLine& line, Model& model, int depth) {
    const std::string answer = Answered(Sent(line), model, depth);
    JoinAnswer(line, answer);
    if (*rc::gen::arbitrary<bool>()) JoinAnswer(line, answer);  // twice is once
  }
  void CallTwo(BaggageLine& line, Model& model, int depth) {
    Model one = model, two = model;
    const std::string bytes = Sent(line);
    const std::string first = Answered(bytes, one, depth), second = Answered(bytes, two, depth);
    if (*rc::gen::arbitrary<bool>()) PackOne(line, model);
    JoinAnswer(line, first);
    JoinAnswer(line, second);
    model.Merge(one);
    model.Merge(two);
  }
  void Branch(BaggageLine& line, Model& model, int depth) {
    BaggageLine branch(line.Freeze());
    Model of_branch = model;
    if (*rc::gen::arbitrary<bool>()) PackOne(line, model);
    Work(branch, of_branch, depth - 1);
    line.Join(branch.Finish());
    model.Merge(of_branch);
  }

  int64_t last_ = 0;
};

RC_GTEST_PROP(BaggageLine, ShowsWhatItShouldHoweverARequestTravels, ()) {
  BaggageLine line;
  Model model;
  RandomRequest().Work(line, model, 2);
}

TEST(BaggageLine, AnAnswerThatAddsNothingChangesNothing) {
  BaggageLine line;
  Pack(line, 1);
  const std::string sent = line.Serialize();
  line.JoinBytes(sent);
  EXPECT_EQ(line.Serialize(), sent) << "not even the instance's name";
  BaggageLine there;
  there.Receive(sent);
  EXPECT_EQ(there.Serialize(), sent);
  Pack(there, 2);
  const std::string answer = there.Serialize();
  line.JoinBytes(answer);
  EXPECT_EQ(line.Serialize(), answer) << "what holds all that was sent takes its place";
  EXPECT_EQ(Unpack(line), Bag({1, 2}));
}

TEST(BaggageLine, HostileAnswersTakeNothingAway) {
  BaggageLine line;
  Pack(line, 1);
  const std::string sent = line.Serialize();
  BaggageLine there;
  there.Receive(sent);
  Pack(there, 2);
  const std::string answer = there.Serialize();
  for (size_t bit = 0; bit < 8 * answer.size(); ++bit) {
    std::string changed = answer;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    BaggageLine fresh;
    fresh.Receive(sent);
    Pack(fresh, 3);
    (void)fresh.Serialize();
    fresh.JoinBytes(changed);
    // More may have come: another number, or the same under another name. Nothing that was here has gone.
    const PackedTuples tuples = fresh.Unpack(kQuery, 0, All());
    for (const int64_t packed : {1, 3}) {
      bool found = false;
      for (size_t row = 0; row < tuples.rows().size(); ++row)
        found = found || wf::advice::Identical(tuples.rows().columns(row)[0], Value(packed));
      EXPECT_TRUE(found) << packed << " after bit " << bit;
    }
  }
}

TEST(BaggageWire, EveryCutAndEveryFlippedBitIsBorne) {
  BaggageLine line;
  Pack(line, 1);
  Pack(line, 2, All(), 0, kQuery + 1);
  BaggageLine there = Received(line);
  Pack(there, 3);
  const std::string bytes = *there.Freeze()->Bytes();
  const auto borne = [](const std::string& text) {
    BaggageLine reader(BaggageSnapshot::FromBytes(text));
    Unpack(reader);
    Pack(reader, 4);
    EXPECT_NE(reader.Freeze(), nullptr);
    EXPECT_EQ(Unpack(reader).count(4), 1u);
  };
  for (size_t size = 0; size < bytes.size(); ++size) borne(bytes.substr(0, size));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    BaggageLine reader(BaggageSnapshot::FromBytes(changed));
    reader.Unpack(kQuery, 0, All());
    Pack(reader, 4);
    ASSERT_NE(reader.Freeze(), nullptr);
  }
}

TEST(BaggageWire, MalformedIsRejectedAndCounted) {
  const std::string bad[] = {
      "x",
      std::string("\x02\x00\x01\x00", 4),  // a version of the future
      std::string("\x01\x00\x01\x41", 4),  // 65 queries
      std::string("\x01\x00\x00", 3) + std::string(70'000, '\0'),
  };
  for (const std::string& bytes : bad) {
    const uint64_t before = Counts().rejected.load();
    BaggageLine line(BaggageSnapshot::FromBytes(bytes));
    EXPECT_EQ(Unpack(line), Bag());
    EXPECT_TRUE(line.empty());
    EXPECT_EQ(Counts().rejected.load(), before + 1);
  }
}

// Branches and hops at random, beside sets of packs that say what each branch has seen.
RC_GTEST_PROP(BaggageLine, SeesWhatHappenedBeforeAndNothingElse, ()) {
  struct Party {
    BaggageLine line;
    Bag seen;
  };
  const bool counting = *rc::gen::arbitrary<bool>();
  const auto pack = [&](Party& party, int64_t value) {
    if (counting) {
      party.line.Pack(kQuery, 0, Counting(), {}, 0, "", OneCounted());
    } else {
      Pack(party.line, value);
    }
    party.seen.insert(value);
  };
  std::vector<Party> parties(1);
  int64_t next = 0;
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const auto at = *rc::gen::inRange<size_t>(0, parties.size());
    const auto other = *rc::gen::inRange<size_t>(0, parties.size());
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1:
        pack(parties[at], next++);
        break;
      case 2: {  // a thread
        if (parties.size() > 6) break;
        Party branch{BaggageLine(parties[at].line.Freeze()), parties[at].seen};
        parties.push_back(std::move(branch));
        break;
      }
      case 3: {  // a process, and perhaps a copy on the way
        if (parties.size() > 6) break;
        Party branch{Received(parties[at].line), parties[at].seen};
        parties.push_back(std::move(branch));
        break;
      }
      case 4: {  // rejoins and ends
        if (at == other) break;
        parties[at].line.Join(parties[other].line.Finish());
        Bag both;
        std::set_union(parties[at].seen.begin(), parties[at].seen.end(),
                       parties[other].seen.begin(), parties[other].seen.end(),
                       std::inserter(both, both.begin()));
        parties[at].seen = both;
        parties.erase(parties.begin() + static_cast<std::ptrdiff_t>(other));
        break;
      }
      case 5: {  // a message; the sender goes on
        if (at == other) break;
        const auto sent = parties[other].line.Freeze();
        if (sent != nullptr) parties[at].line.Join(BaggageSnapshot::FromBytes(*sent->Bytes()));
        Bag both;
        std::set_union(parties[at].seen.begin(), parties[at].seen.end(),
                       parties[other].seen.begin(), parties[other].seen.end(),
                       std::inserter(both, both.begin()));
        parties[at].seen = both;
        break;
      }
    }
    for (Party& party : parties) {
      if (counting) {
        RC_ASSERT(Counted(party.line) == static_cast<int64_t>(party.seen.size()));
      } else {
        RC_ASSERT(Unpack(party.line) == party.seen);
      }
    }
  }
}

}  // namespace
}  // namespace wherefore::client
