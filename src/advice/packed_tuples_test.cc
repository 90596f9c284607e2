#include "advice/packed_tuples.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

namespace wf::advice {
namespace {

Slot MakeSlot(Keep keep, uint32_t limit, uint32_t columns, std::vector<Aggregate> aggregates = {}) {
  Slot slot;
  slot.keep = keep;
  slot.limit = limit;
  slot.columns = columns;
  slot.aggregates = std::move(aggregates);
  return slot;
}

Rows MakeRows(const std::vector<Tuple>& tuples) {
  Rows rows(tuples.empty() ? 1 : tuples[0].size(), 0);
  for (const Tuple& tuple : tuples) {
    for (const Value& value : tuple) rows.AddColumn(value);
    rows.EndRow(1);
  }
  return rows;
}

std::string Bytes(const Slot& slot, const PackedTuples& packed) {
  std::string bytes;
  packed.Encode(slot, bytes);
  return bytes;
}

std::string Ids(const PackedTuples& packed) {
  std::string ids;
  for (const PackedEvent& event : packed.events()) ids += event.id + " ";
  return ids;
}

TEST(PackedTuples, IdenticalTuplesAreOneOfMoreWeight) {
  const Slot slot = MakeSlot(Keep::kAll, 0, 1);
  PackedTuples packed;
  for (int round = 0; round < 3; ++round) {
    for (int64_t i = 0; i < 40; ++i) packed.Add(slot, MakeRows({{i}}));
  }
  packed.Add(slot, MakeRows({{1.0}}));  // not 1: 1 + 1 is not 2.0
  ASSERT_EQ(packed.tuple_count(), 41u);
  for (size_t row = 0; row < 40; ++row) EXPECT_EQ(packed.rows().weight(row), 3u);
  EXPECT_EQ(packed.rows().weight(40), 1u);
}

TEST(PackedTuples, SeveralTuplesOfAnEventWithoutColumnsReadBack) {
  const Slot slot = MakeSlot(Keep::kFirst, 1, 0);
  Rows rows(0, 0);
  for (int i = 0; i < 3; ++i) rows.EndRow(1);
  PackedTuples packed;
  packed.AddEvent(slot, 7, "e", rows);
  PackedTuples again;
  ASSERT_TRUE(PackedTuples::Decode(slot, Bytes(slot, packed), again));
  uint64_t weight = 0;
  for (size_t row = 0; row < again.rows().size(); ++row) weight += again.rows().weight(row);
  EXPECT_EQ(weight, 3u);
}

TEST(PackedTuples, FirstAndMostRecentOnOneBranchGoByCausality) {
  const Slot first = MakeSlot(Keep::kFirst, 2, 1), recent = MakeSlot(Keep::kMostRecent, 2, 1);
  PackedTuples a, b;
  // The clock runs backwards; the order of causality is a b c d.
  int64_t time = 100;
  for (const char* id : {"d", "c", "b", "a"}) {
    a.AddEvent(first, time, id, MakeRows({{time}}));
    b.AddEvent(recent, time, id, MakeRows({{time}}));
    time -= 10;
  }
  EXPECT_EQ(Ids(a), "d c ");
  EXPECT_EQ(Ids(b), "b a ");
  EXPECT_EQ(b.events()[1].adjusted_time, 103);
}

TEST(PackedTuples, BranchesMergeByAdjustedTimeAndThenById) {
  const Slot slot = MakeSlot(Keep::kMostRecent, 2, 1);
  PackedTuples a, b;
  a.AddEventAt(slot, 5, "x", MakeRows({{int64_t{1}}, {int64_t{2}}}));
  a.AddEventAt(slot, 9, "y", Rows(1, 0));  // an event without tuples is picked like any other
  b.AddEventAt(slot, 9, "z", MakeRows({{int64_t{3}}}));
  b.AddEventAt(slot, 5, "x", MakeRows({{int64_t{1}}, {int64_t{2}}}));
  PackedTuples ab = a, ba = b;
  ab.Merge(slot, b);
  ba.Merge(slot, a);
  EXPECT_EQ(Ids(ab), "y z ");
  EXPECT_EQ(Bytes(slot, ab), Bytes(slot, ba));
  ba.Merge(slot, b);  // once more
  EXPECT_EQ(Bytes(slot, ab), Bytes(slot, ba));
  EXPECT_EQ(ab.tuple_count(), 1u);
}

// The stress test's host, then three rows of it and a replica's host: what Q7 of the paper carries. A baggage adds its
// version, the query's id and two instances' ids.
TEST(PackedTuples, TuplesOfQ7AreShort) {
  const std::string st = "client07";
  const Slot one = MakeSlot(Keep::kAll, 0, 1), two = MakeSlot(Keep::kAll, 0, 2);
  PackedTuples a, b;
  a.Add(one, MakeRows({{st}}));
  b.Add(two, MakeRows({{st, std::string("datanod1")},
                       {st, std::string("datanod2")},
                       {st, std::string("datanod3")}}));
  EXPECT_LE(Bytes(one, a).size() + Bytes(two, b).size(), 50u);
}

TEST(PackedTuples, BytesOfAnotherShapeAreRefused) {
  const Slot one = MakeSlot(Keep::kAll, 0, 1), two = MakeSlot(Keep::kAll, 0, 2);
  PackedTuples packed, read;
  packed.Add(one, MakeRows({{int64_t{7}}, {int64_t{8}}, {int64_t{9}}}));
  const std::string bytes = Bytes(one, packed);
  EXPECT_TRUE(PackedTuples::Decode(one, bytes, read));
  EXPECT_FALSE(PackedTuples::Decode(two, bytes, read));
  EXPECT_FALSE(PackedTuples::Decode(one, bytes + "x", read));
  EXPECT_FALSE(PackedTuples::Decode(one, bytes.substr(0, bytes.size() - 1), read));
  // Four thousand million rows without a byte each.
  EXPECT_FALSE(PackedTuples::Decode(MakeSlot(Keep::kAll, 0, 0), "\xfe\xff\xff\xff\x1f", read));
  EXPECT_FALSE(PackedTuples::Decode(MakeSlot(Keep::kAll, 0, 0), "\xff\xff\xff\xff\x1f", read));
}

TEST(PackedTuples, ManyStringsComeBack) {
  const Slot slot = MakeSlot(Keep::kAll, 0, 2);
  std::vector<Tuple> tuples;
  for (int i = 0; i < 1'000; ++i)
    tuples.push_back({"host-" + std::to_string(i % 450), std::string(static_cast<size_t>(i), 'x')});
  PackedTuples packed, read;
  packed.Add(slot, MakeRows(tuples));
  const std::string bytes = Bytes(slot, packed);
  ASSERT_TRUE(PackedTuples::Decode(slot, bytes, read));
  ASSERT_EQ(read.tuple_count(), 1'000u);
  for (size_t i = 0; i < 1'000; ++i)
    EXPECT_TRUE(IdenticalColumns(read.rows().columns(i), tuples[i].data(), 2)) << i;
}

Value AnyValue() {
  switch (*rc::gen::inRange(0, 9)) {
    case 0:
      return Value();
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
    case 3:
      return *rc::gen::inRange<int64_t>(-3, 70);
    case 4:
      return *rc::gen::arbitrary<int64_t>();
    case 5:
      return *rc::gen::inRange(-5, 5) / 10.0;
    case 6:
      return *rc::gen::arbitrary<std::string>();
    case 7:
      return List{List{*rc::gen::inRange<int64_t>(0, 9), std::string("ab")}, Value()};
    default:
      return *rc::gen::element<std::string>("datanode1", "datanode2", "x", "");
  }
}

Rows AnyRows(const Slot& slot) {
  Rows rows(slot.columns, slot.aggregates.size());
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    for (uint32_t k = 0; k < slot.columns; ++k) rows.AddColumn(AnyValue());
    const auto weight = *rc::gen::inRange<uint64_t>(1, 4);
    for (const Aggregate& aggregate : slot.aggregates) {
      AggregateState state(aggregate.kind);
      state.Add(AnyValue(), weight);
      rows.AddState(std::move(state));
    }
    rows.EndRow(weight);
  }
  return rows;
}

Slot AnySlot() {
  Slot slot =
      MakeSlot(static_cast<Keep>(*rc::gen::inRange(0, 3)), 0, *rc::gen::inRange<uint32_t>(0, 4));
  if (slot.keep != Keep::kAll) slot.limit = *rc::gen::inRange<uint32_t>(1, 4);
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    slot.aggregates.push_back({static_cast<AggregateKind>(*rc::gen::inRange(0, 8)), 50});
  return slot;
}

PackedTuples AnyPacked(const Slot& slot) {
  PackedTuples packed;
  if (slot.keep == Keep::kAll) {
    packed.Add(slot, AnyRows(slot));
    return packed;
  }
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    // Ids are one letter, and an event's tuples follow from it: the same event is the same everywhere.
    const auto number = *rc::gen::inRange<int64_t>(0, 12);
    Rows rows(slot.columns, slot.aggregates.size());
    // Without columns all tuples are one.
    for (int64_t k = 0; k < number % (slot.columns == 0 ? 2 : 3); ++k) {
      for (uint32_t c = 0; c < slot.columns; ++c) rows.AddColumn(number + k);
      for (const Aggregate& aggregate : slot.aggregates)
        rows.AddState(AggregateState(aggregate.kind));
      rows.EndRow(1);
    }
    packed.AddEventAt(slot, number / 2, std::string(1, static_cast<char>('a' + number)), rows);
  }
  return packed;
}

// In any order, to the tuple: encoded rows may stand in another order, so they are compared as sets.
std::vector<std::string> Canonical(const Slot& slot, const PackedTuples& packed) {
  std::vector<std::string> rows;
  for (size_t row = 0; row < packed.rows().size(); ++row) {
    std::string bytes;
    {
      Writer out(bytes);
      StringTable strings;
      packed.rows().Encode(row, row + 1, out, strings);
    }
    rows.push_back(bytes);
  }
  if (slot.keep == Keep::kAll) std::sort(rows.begin(), rows.end());
  rows.push_back(Ids(packed));
  return rows;
}

TEST(PackedTuples, WhatIsEncodedIsDecoded) {
  EXPECT_TRUE(rc::check([] {
    const Slot slot = AnySlot();
    const PackedTuples packed = AnyPacked(slot);
    const std::string bytes = Bytes(slot, packed);
    PackedTuples read;
    RC_ASSERT(PackedTuples::Decode(slot, bytes, read));
    RC_ASSERT(Bytes(slot, read) == bytes);
    RC_ASSERT(Canonical(slot, read) == Canonical(slot, packed));
  }));
}

TEST(PackedTuples, TheOrderOfMergingMakesNoDifference) {
  EXPECT_TRUE(rc::check([] {
    const Slot slot = AnySlot();
    std::vector<PackedTuples> parts;
    for (int i = 0; i < 4; ++i) parts.push_back(AnyPacked(slot));
    PackedTuples left, right, tree;
    for (const PackedTuples& part : parts) left.Merge(slot, part);
    for (size_t i = parts.size(); i-- > 0;) right.Merge(slot, parts[i]);
    PackedTuples a = parts[0], b = parts[2];
    a.Merge(slot, parts[1]);
    b.Merge(slot, parts[3]);
    tree.Merge(slot, b);
    tree.Merge(slot, a);
    RC_ASSERT(Canonical(slot, left) == Canonical(slot, right));
    RC_ASSERT(Canonical(slot, left) == Canonical(slot, tree));
    if (slot.keep == Keep::kAll) return;
    tree.Merge(slot, parts[3]);
    RC_ASSERT(Canonical(slot, left) == Canonical(slot, tree));
  }));
}

}  // namespace
}  // namespace wf::advice
