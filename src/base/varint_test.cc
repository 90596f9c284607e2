#include "base/varint.h"

#include <gtest/gtest.h>

namespace wf {
namespace {

TEST(Varint, WhatIsPutIsTaken) {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{300}, UINT64_MAX}) {
    std::string bytes;
    PutVarint(value, bytes);
    bytes += "rest";
    std::string_view left = bytes;
    uint64_t taken = 1;
    EXPECT_TRUE(TakeVarint(left, taken));
    EXPECT_EQ(taken, value);
    EXPECT_EQ(left, "rest");
  }
}

TEST(Varint, CutShortOrTooLongIsRefused) {
  uint64_t taken = 0;
  for (const std::string& bytes : {std::string(), std::string("\x80"), std::string(10, '\xff')}) {
    std::string_view left = bytes;
    EXPECT_FALSE(TakeVarint(left, taken));
    EXPECT_TRUE(left.empty());
  }
  const std::string longer(11, '\x80');
  std::string_view left = longer;
  EXPECT_FALSE(TakeVarint(left, taken));
  EXPECT_EQ(left.size(), 1u);
}

TEST(Varint, ZigZagKeepsSmallNumbersSmall) {
  EXPECT_EQ(ZigZag(-1), 1u);
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{64}, INT64_MIN, INT64_MAX})
    EXPECT_EQ(UnZigZag(ZigZag(value)), value);
}

}  // namespace
}  // namespace wf
