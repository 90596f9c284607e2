#include "recorder/control/branch_count.h"

#include <gtest/gtest.h>

#include "recorder/format/branches.h"

namespace wf::recorder {
namespace {

std::string Piece(BranchSource source, std::initializer_list<int> bytes) {
  BranchesHead head = {};
  head.source = source;
  std::string piece(reinterpret_cast<const char*>(&head), sizeof head);
  for (const int byte : bytes) piece += static_cast<char>(byte);
  return piece;
}

TEST(BranchCount, CountsConditionalAndIndirectOnesOfQemu) {
  EXPECT_EQ(BranchesInPiece(Piece(BranchSource::kQemu, {kReset,
                                                        1,
                                                        kOpen,
                                                        0,
                                                        4,
                                                        kSite,
                                                        0,
                                                        2,
                                                        6,
                                                        2,
                                                        kFirstBranch,
                                                        kFirstBranch + 1,
                                                        kSite,
                                                        1,
                                                        8,
                                                        kIndirect,
                                                        2,
                                                        0x81,
                                                        0x01,
                                                        kGap,
                                                        7,
                                                        0x85,
                                                        0x01})),
            4u);
}

TEST(BranchCount, CountsBlocksOfCoverage) {
  EXPECT_EQ(BranchesInPiece(
                Piece(BranchSource::kCoverage, {kCoverageOpen, 0, kFirstBlock, kFirstBlock + 1, 4,
                                                kCoverageGap, 3, 1, kFirstBlock + 2})),
            3u);
}

TEST(BranchCount, DoesNotGuessWhatTheProcessorWrote) {
  EXPECT_EQ(BranchesInPiece(Piece(BranchSource::kPt, {kPtOpen, 0})), std::nullopt);
}

TEST(BranchCount, EndsWhereAPieceIsCutOff) {
  EXPECT_EQ(BranchesInPiece(Piece(BranchSource::kQemu, {kFirstBranch, kIndirect, 2})), 2u);
  EXPECT_EQ(BranchesInPiece("short"), 0u);
}

}  // namespace
}  // namespace wf::recorder
