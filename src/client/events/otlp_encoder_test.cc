#include "client/events/otlp_encoder.h"

#include <gtest/gtest.h>

#include <string>

#include "client/runtime/protobuf_reader.h"
#include "client/transport/test_receiver.h"

namespace wherefore::client {
namespace {

// Bytes as protoc encodes them: Span.attributes { key: "k" value { int_value: -1 } }.
TEST(OtlpEncoder, BytesOfALabelAreThoseOfProtobuf) {
  std::string out;
  EncodeLabel(LabelsOf::kBlock, "k", -1, out);
  EXPECT_EQ(HexOf(out), "4a100a016b120b18ffffffffffffffffff01");
  out.clear();
  EncodeLabel(LabelsOf::kBlock, "k", "v", out);
  EXPECT_EQ(HexOf(out), "4a080a016b12030a0176");
  out.clear();
  EncodeLabel(LabelsOf::kProcess, "k", true, out);
  EXPECT_EQ(HexOf(out), "0a070a016b12021001");
  out.clear();
  EncodeLabel(LabelsOf::kPoint, "k", 1.5, out);
  EXPECT_EQ(HexOf(out), "1a0e0a016b120921000000000000f83f");
}

TEST(OtlpEncoder, BadUtf8IsReplacedSoThatTheBatchIsNotRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"fine ü 漢 😀", "fine ü 漢 😀"},
      {"a\xFFz", "a\xEF\xBF\xBDz"},
      {"cut \xE2\x82", "cut \xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},                                  // overlong
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},                  // surrogate
      {"\xF5\x80\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},  // too high
  };
  for (const auto& [in, expected] : cases) {
    std::string out;
    AppendTextField(1, in, out);
    ProtobufReader reader(out);
    ASSERT_TRUE(reader.Next());
    EXPECT_EQ(reader.bytes(), expected);
  }
}

TEST(OtlpEncoder, AnswerWithPartialSuccess) {
  std::string partial, body;
  AppendVarintField(1, 7, partial);
  AppendTextField(2, "zero span id", partial);
  AppendBytesField(1, partial, body);
  const ExportAnswer answer = DecodeAnswer(body);
  EXPECT_TRUE(answer.well_formed);
  EXPECT_EQ(answer.rejected, 7u);
  EXPECT_EQ(answer.reason, "zero span id");

  EXPECT_EQ(DecodeAnswer("").rejected, 0u);
  EXPECT_TRUE(DecodeAnswer("").well_formed);
  for (size_t length = 1; length < body.size(); ++length) {
    EXPECT_FALSE(DecodeAnswer(body.substr(0, length)).well_formed) << length;
  }
  EXPECT_FALSE(DecodeAnswer("{\"partialSuccess\":{}}").well_formed) << "JSON is not protobuf";
  std::string negative, negative_body;
  AppendVarintField(1, static_cast<uint64_t>(-5), negative);
  AppendBytesField(1, negative, negative_body);
  EXPECT_EQ(DecodeAnswer(negative_body).rejected, 0u);
}

}  // namespace
}  // namespace wherefore::client
