#include "store/clickhouse/event_rows.h"

#include <gtest/gtest.h>

#include "store/batch_builder.h"

namespace wf::store::clickhouse {
namespace {

TEST(LengthClass, HoldsWhatIsShorter) {
  EXPECT_EQ(LengthClass(0), 0);
  EXPECT_EQ(LengthClass(-5), 0);
  for (const Nanos length : {Nanos{1}, Nanos{2}, Nanos{3}, Nanos{4}, Nanos{15}, Nanos{16}, kMilli,
                             kSecond, kDay, INT64_MAX / 2, INT64_MAX}) {
    const int c = LengthClass(length);
    ASSERT_LT(c, kLengthClasses);
    EXPECT_LE(length, LongestOfClass(c));
    EXPECT_GT(length, LongestOfClass(c - 1));
  }
}

TEST(DayOf, StaysInTheColumnsRange) {
  EXPECT_EQ(DayOf(0), 0);
  EXPECT_EQ(DayOf(-kDay), 0);
  EXPECT_EQ(DayOf(3 * kDay + 1), 3);
  EXPECT_EQ(DayOf(INT64_MAX), UINT16_MAX);
}

TEST(RowReader, EndsAtABrokenAnswer) {
  RowReader cut(
      std::string_view("\x05"
                       "abc",
                       4));
  EXPECT_EQ(cut.Text(), "");
  EXPECT_TRUE(cut.bad());
  EXPECT_FALSE(cut.status().ok());
  RowReader endless(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11));
  EXPECT_EQ(endless.Count(), 0u);
  EXPECT_TRUE(endless.bad());
  // A count that no answer could hold reserves nothing.
  RowReader many(std::string_view("\xff\xff\xff\xff\x0f", 5));
  EXPECT_EQ(many.Elements(), 0u);
  EXPECT_TRUE(many.bad());
}

TEST(EncodeEvents, ProcessesAndNamesOnceForAShardAndDay) {
  BatchBuilder b;
  b.Process("front", "h1", {{"zone", "eu"}});
  for (uint64_t i = 1; i <= 10; ++i)
    b.Span({0, i}, i, 0, 100, 10, "get").Text("user", std::to_string(i));
  b.Received(5 * kDay);
  const EventBatch batch = b.Take();
  std::vector<EncodedEvents> shards(2);
  EncodeEvents(
      batch, [](TraceId id) { return id.lo % 2; }, shards);
  for (const EncodedEvents& shard : shards) {
    EXPECT_EQ(shard.rows, 5u);
    int by_table[3] = {};
    for (const SideRow& row : shard.side_rows) {
      ++by_table[static_cast<int>(row.table)];
      EXPECT_EQ(row.day, 5);
    }
    EXPECT_EQ(by_table[0], 2) << "a process and a scope";
    EXPECT_EQ(by_table[1], 1);
    EXPECT_EQ(by_table[2], 1) << "keys of processes stand with them";
  }
}

TEST(EventDecoder, RefusesHalfARow) {
  EventDecoder decoder("t", {});
  EXPECT_FALSE(decoder.Add("abc").ok());
}

}  // namespace
}  // namespace wf::store::clickhouse
