#include "model/event_batch.h"

#include <gtest/gtest.h>

namespace wf {
namespace {

EventBatch Sample() {
  EventBatch b;
  b.received_ns = 77;
  const uint32_t service_key = b.strings.Intern("service.name");
  PutVarint(service_key, b.bytes);
  PutString("shop", b.bytes);
  b.processes.push_back({b.strings.Intern("shop"), b.strings.Intern("host-1"), 0, b.ArenaSize()});
  b.scopes.push_back({});
  for (uint64_t i = 1; i <= 3; ++i) {
    b.AddRow();
    b.trace_lo.back() = 9;
    b.id1.back() = i;
    b.start_ns.back() = static_cast<Nanos>(i * 10);
    b.name.back() = b.strings.Intern("op" + std::to_string(i));
    PutVarint(b.strings.Intern("n"), b.bytes);
    PutInt(-5, b.bytes);
    PutVarint(b.strings.Intern("d"), b.bytes);
    PutDouble(2.5, b.bytes);
    b.EndAttributes();
    PutPoint({12, b.strings.Intern("retry"), {}}, b.bytes);
    b.EndPoints();
    PutLink({{1, 2}, {3}, 1, 4, b.strings.Intern("k=v"), {}}, b.bytes);
    b.EndLinks();
  }
  b.SetSequence(4);
  return b;
}

TEST(EventBatch, SerializesAndReadsBack) {
  const EventBatch b = Sample();
  std::string bytes;
  SerializeBatch(b, bytes);
  auto again = DeserializeBatch(bytes);
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again->size(), b.size());
  for (size_t i = 0; i < b.size(); ++i) EXPECT_EQ(ContentHash(b, i), ContentHash(*again, i));
  EXPECT_EQ(again->sequence_of(2), 4);
  EXPECT_EQ(again->sequence_of(0), kNoSequence);
  EXPECT_EQ(again->received_of(1), 77);
}

TEST(EventBatch, EveryTruncationIsRefused) {
  std::string bytes;
  SerializeBatch(Sample(), bytes);
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(DeserializeBatch(std::string_view(bytes).substr(0, n)).ok());
}

TEST(EventBatch, FlippedBytesNeverCrash) {
  std::string bytes;
  SerializeBatch(Sample(), bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xFF);
    auto read = DeserializeBatch(damaged);
    if (!read.ok()) continue;
    for (size_t row = 0; row < read->size(); ++row) ContentHash(*read, row);
  }
}

TEST(EventBatch, CopiedRowsHaveTheSameContent) {
  const EventBatch from = Sample();
  EventBatch to;
  to.strings.Intern("something else first");
  to.received_ns = 1;
  RowCopier copier(from, to);
  for (size_t row : {2u, 0u}) copier.Copy(row);
  ASSERT_EQ(to.size(), 2u);
  EXPECT_EQ(ContentHash(from, 2), ContentHash(to, 0));
  EXPECT_EQ(ContentHash(from, 0), ContentHash(to, 1));
  EXPECT_EQ(to.received_of(0), 77);
  EXPECT_EQ(to.processes.size(), 1u);
}

TEST(EventBatch, ContentHashSeesEveryPart) {
  EventBatch a = Sample();
  const Hash128 before = ContentHash(a, 0);
  EXPECT_NE(before.lo, ContentHash(a, 1).lo);
  a.received_ns = 5;  // receipt is not content
  EXPECT_EQ(before, ContentHash(a, 0));
  a.flags[0] = 1;
  EXPECT_FALSE(before == ContentHash(a, 0));
}

TEST(EventBatch, DroppedRowLeavesNoBytes) {
  EventBatch b = Sample();
  const size_t before = b.bytes.size();
  b.AddRow();
  b.bytes += "garbage";
  b.DropLastRow();
  EXPECT_EQ(b.bytes.size(), before);
  EXPECT_EQ(b.size(), 3u);
  EXPECT_EQ(b.sequence.size(), 3u);
}

}  // namespace
}  // namespace wf
