#include "net/hpack_decoder.h"

#include <gtest/gtest.h>

namespace wf::net {
namespace {

std::string Hex(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// The requests of RFC 7541, appendix C.4: with Huffman codes, and a table that grows.
TEST(HpackDecoder, RequestsOfTheRfc) {
  HpackDecoder decoder;
  HpackDecoder::Headers headers;
  ASSERT_TRUE(decoder.Decode(Hex("828684418cf1e3c2e5f23a6ba0ab90f4ff"), headers));
  const HpackDecoder::Headers first = {
      {":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "www.example.com"}};
  EXPECT_EQ(headers, first);
  ASSERT_TRUE(decoder.Decode(Hex("828684be5886a8eb10649cbf"), headers));
  ASSERT_EQ(headers.size(), 5u);
  EXPECT_EQ(headers[3].second, "www.example.com");
  EXPECT_EQ(headers[4], (std::pair<std::string, std::string>("cache-control", "no-cache")));
}

TEST(HpackDecoder, AfterNonsenseNothingIsDecoded) {
  HpackDecoder decoder;
  HpackDecoder::Headers headers;
  EXPECT_FALSE(decoder.Decode(Hex("be"), headers)) << "an entry of an empty table";
  EXPECT_FALSE(decoder.Decode(Hex("82"), headers));
}

}  // namespace
}  // namespace wf::net
