#include "base/ids.h"

#include <gtest/gtest.h>

namespace wf {
namespace {

TEST(Ids, ShorterIsZeroPadded) {
  auto id = ParseTraceId("Ab");
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(ToHex(*id), "000000000000000000000000000000ab");
  EXPECT_EQ(ToHex(*ParseSpanId("1f")), "000000000000001f");
}

TEST(Ids, FullLengthRoundTrips) {
  const std::string text = "0123456789abcdeffedcba9876543210";
  EXPECT_EQ(ToHex(*ParseTraceId(text)), text);
}

TEST(Ids, NonHexIsRejectedWithItsPlace) {
  auto id = ParseTraceId("12x4");
  ASSERT_FALSE(id.ok());
  EXPECT_EQ(id.error().code, ErrorCode::kBadInput);
  EXPECT_NE(id.error().message.find("character 3"), std::string::npos) << id.error().message;
}

TEST(Ids, EmptyAndTooLongAreRejected) {
  EXPECT_FALSE(ParseTraceId("").ok());
  EXPECT_FALSE(ParseTraceId(std::string(33, 'a')).ok());
  EXPECT_FALSE(ParseSpanId(std::string(17, 'a')).ok());
}

TEST(Ids, BytesAreBigEndian) {
  const unsigned char bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(ToHex(TraceIdFromBytes(bytes)), "000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(ToHex(SpanIdFromBytes(bytes)), "0001020304050607");
}

}  // namespace
}  // namespace wf
