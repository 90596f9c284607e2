#include "base/base64.h"

#include <gtest/gtest.h>

namespace wf {
namespace {

TEST(Base64, VectorsOfRfc4648) {
  const std::pair<const char*, const char*> kVectors[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : kVectors) {
    EXPECT_EQ(Base64Encode(plain), encoded);
    EXPECT_EQ(Base64Decode(encoded), plain);
  }
  EXPECT_EQ(Base64Encode("fo", Base64Padding::kNone), "Zm8");
  EXPECT_EQ(Base64Encode("foob", Base64Padding::kNone), "Zm9vYg");
  EXPECT_EQ(Base64Encode("\xff\xfe", Base64Padding::kNone), "//4");
  EXPECT_EQ(Base64Decode("Zg"), "f");               // padding left out
  EXPECT_EQ(Base64Decode("-_-_"), "\xfb\xff\xbf");  // URL alphabet
  EXPECT_EQ(Base64Decode("Z"), std::nullopt);
  EXPECT_EQ(Base64Decode("Zg=g"), std::nullopt);
  EXPECT_EQ(Base64Decode("Z!=="), std::nullopt);
}

}  // namespace
}  // namespace wf
