#include "net/grpc_message.h"

#include <gtest/gtest.h>

#include <string>

#include "base/base64.h"

namespace wf::net {
namespace {

using State = GrpcMessageReader::State;

State FeedAll(GrpcMessageReader& reader, std::string_view bytes, size_t piece) {
  for (size_t at = 0; at < bytes.size();) {
    std::string_view part = bytes.substr(at, piece);
    while (!part.empty()) {
      size_t used = reader.Feed(part);
      if (used == 0) return reader.state();
      part.remove_prefix(used);
      at += used;
    }
  }
  return reader.state();
}

TEST(GrpcMessage, ReadsFramesInAnyPieces) {
  std::string frame = GrpcMessageHead(GrpcCompressed::kYes, 300) + std::string(300, 'm');
  for (size_t piece : {1, 2, 4, 5, 6, 299, 1000}) {
    GrpcMessageReader reader;
    EXPECT_EQ(FeedAll(reader, frame, piece), State::kComplete);
    EXPECT_TRUE(reader.compressed());
    EXPECT_EQ(reader.message(), std::string(300, 'm'));
  }
  GrpcMessageReader empty;
  EXPECT_EQ(FeedAll(empty, GrpcMessageHead(GrpcCompressed::kNo, 0), 5), State::kComplete);
  EXPECT_EQ(empty.message(), "");
}

TEST(GrpcMessage, TellsTheSizeBeforeStoringAnything) {
  GrpcMessageReader reader;
  EXPECT_EQ(reader.Feed(std::string("\0\xff\xff\xff\xff rest", 10)), 5u);
  EXPECT_EQ(reader.state(), State::kMessage);
  EXPECT_EQ(reader.size(), 0xffffffffu);
  EXPECT_TRUE(reader.message().empty());
}

TEST(GrpcMessage, RefusesBadFlagsAndSecondMessages) {
  GrpcMessageReader flag;
  EXPECT_EQ(FeedAll(flag, std::string("\2\0\0\0\1x", 6), 6), State::kBadFlag);
  GrpcMessageReader twice;
  EXPECT_EQ(FeedAll(twice, GrpcMessageHead(GrpcCompressed::kNo, 1) + "xy", 100), State::kTrailing);
  GrpcMessageReader cut;
  EXPECT_EQ(FeedAll(cut, GrpcMessageHead(GrpcCompressed::kNo, 2) + "x", 100), State::kMessage);
}

TEST(GrpcMessage, StatusTextIsPercentEncoded) {
  EXPECT_EQ(EncodeGrpcText("50% of \xc3\xa9\n"), "50%25 of %C3%A9%0A");
  EXPECT_EQ(DecodeGrpcText("50%25 of %C3%A9%0A"), "50% of \xc3\xa9\n");
  EXPECT_EQ(DecodeGrpcText("100% %zz %4"), "100% %zz %4");
}

TEST(GrpcMessage, RetryDetailsRoundTrip) {
  for (Nanos delay : {Nanos{0}, Nanos{1}, 250 * kMilli, kSecond, 90 * kSecond + 5, kHour}) {
    EXPECT_EQ(DecodeRetryDetails(EncodeRetryDetails(14, "busy", delay)), delay);
  }
  EXPECT_EQ(DecodeRetryDetails(Base64Encode("\x08\x0e", Base64Padding::kNone)), std::nullopt);
  EXPECT_EQ(DecodeRetryDetails("***"), std::nullopt);
}

// The bytes that protoc --encode=google.rpc.Status gives for code 14, message "b", RetryInfo of 1.5
// s.
TEST(GrpcMessage, RetryDetailsAreTheProtobufOthersRead) {
  std::string any = std::string("\x0a\x28") + "type.googleapis.com/google.rpc.RetryInfo" +
                    std::string("\x12\x0a\x0a\x08\x08\x01\x10\x80\xca\xb5\xee\x01", 12);
  std::string status =
      std::string("\x08\x0e\x12\x01") + "b" + "\x1a" + static_cast<char>(any.size()) + any;
  EXPECT_EQ(EncodeRetryDetails(14, "b", kSecond + 500 * kMilli),
            Base64Encode(status, Base64Padding::kNone));
}

}  // namespace
}  // namespace wf::net
