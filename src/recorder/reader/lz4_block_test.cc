#include "recorder/reader/lz4_block.h"

#include <gtest/gtest.h>

#include <string>

namespace wf::recorder {
namespace {

std::string Decoded(std::string_view block, size_t size) {
  std::string out;
  return DecodeLz4Block(block, size, out) ? out : "(broken)";
}

TEST(Lz4Block, LiteralsOnly) {
  EXPECT_EQ(Decoded("\x30"
                    "abc",
                    3),
            "abc");
}

TEST(Lz4Block, CopiesWhatOverlapsItself) {
  // "ab", then 8 bytes from 2 back, then "c".
  EXPECT_EQ(Decoded(std::string("\x24"
                                "ab\x02\x00\x10"
                                "c",
                                7),
                    11),
            "ababababab"
            "c");
}

TEST(Lz4Block, LongLengths) {
  // 15 + 255 + 10 literals.
  const std::string text(280, 'x');
  EXPECT_EQ(Decoded(std::string("\xf0\xff\x0a", 3) + text, 280), text);
  // "y", a copy of 4 + 15 + 255 + 1 bytes from 1 back, then nothing.
  EXPECT_EQ(Decoded(std::string("\x1fy\x01\x00\xff\x01\x00", 7), 276), std::string(276, 'y'));
}

TEST(Lz4Block, RefusesWhatWouldLeaveItsBuffers) {
  EXPECT_EQ(Decoded("", 0), "(broken)");
  EXPECT_EQ(Decoded("\x30"
                    "ab",
                    3),
            "(broken)");  // literals beyond the block
  EXPECT_EQ(Decoded("\x30"
                    "abc",
                    2),
            "(broken)");  // more than was promised
  EXPECT_EQ(Decoded(std::string("\x14"
                                "a\x02\x00\x10"
                                "c",
                                6),
                    10),
            "(broken)");  // from before the beginning
  EXPECT_EQ(Decoded(std::string("\x14"
                                "a\x00\x00\x10"
                                "c",
                                6),
                    10),
            "(broken)");  // from nowhere
  EXPECT_EQ(Decoded(std::string("\x1f"
                                "a\x01\x00\xff\xff",
                                6),
                    9),
            "(broken)");  // a length that does not end
}

}  // namespace
}  // namespace wf::recorder
