#include "bus/pieces.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "bus/test_batch.h"

namespace wf::bus {
namespace {

TEST(Pieces, ThePartitionOfATraceNeverChanges) {
  // Numbers that a later version must give again: pieces and notes of running systems depend on them.
  EXPECT_EQ(PartitionOf({0, 0}, 12), 0);
  EXPECT_EQ(PartitionOf({1, 2}, 12), PartitionOf({1, 2}, 12));
  std::vector<int> used(12);
  for (uint64_t id = 0; id < 12'000; ++id) ++used[static_cast<size_t>(PartitionOf({5, id}, 12))];
  for (const int count : used) {
    EXPECT_GT(count, 800);
    EXPECT_LT(count, 1200);
  }
}

TEST(Pieces, BytesThatAreNoPieceAreRefused) {
  const std::string good = EncodePiece(BusBatch({{1, 1}, {2, 2}}, "text"));
  ASSERT_TRUE(DecodePiece(good).ok());
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(DecodePiece(std::string_view(good).substr(0, length)).ok()) << length;
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] ^= 0x20;
    const auto decoded = DecodePiece(bad);
    ASSERT_FALSE(decoded.ok()) << at;
    EXPECT_EQ(decoded.error().code, ErrorCode::kBadInput);
  }
}

RC_GTEST_PROP(Pieces, EveryEventIsInOnePieceOfItsPartitionInItsOrder, ()) {
  const auto partitions = *rc::gen::inRange<int32_t>(1, 9);
  const auto rows = *rc::gen::container<std::vector<std::pair<uint64_t, uint64_t>>>(
      rc::gen::pair(rc::gen::inRange<uint64_t>(1, 9), rc::gen::inRange<uint64_t>(1, 1000)));
  PieceLimits limits;
  limits.target = static_cast<size_t>(*rc::gen::inRange(300, 3000));
  EventBatch batch = BusBatch(rows, std::string(50, 'a'));
  const EventBatch copy = batch;
  const auto pieces = CutBatch(std::move(batch), partitions, limits);
  RC_ASSERT(pieces.ok());
  std::map<uint64_t, std::vector<uint64_t>> expected, got;
  for (const auto& [trace, span] : rows) expected[trace].push_back(span);
  for (const CutPiece& piece : *pieces) {
    const auto decoded = DecodePiece(piece.bytes);
    RC_ASSERT(decoded.ok());
    RC_ASSERT(!decoded->empty());
    RC_ASSERT(piece.bytes.size() <= limits.target || decoded->size() == 1);
    for (size_t row = 0; row < decoded->size(); ++row) {
      RC_ASSERT(PartitionOf(decoded->trace_id(row), partitions) == piece.partition);
      got[decoded->trace_lo[row]].push_back(decoded->id1[row]);
    }
  }
  RC_ASSERT(got == expected);
}

}  // namespace
}  // namespace wf::bus
