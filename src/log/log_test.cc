#include "log/log.h"

#include <gtest/gtest.h>

#include <string>

namespace wf {
namespace {

TEST(Log, WritesOneLinePerCallAndHonoursTheLevel) {
  testing::internal::CaptureStderr();
  log::SetLevel(log::Level::kWarn);
  log::Info("hidden {}", 1);
  log::Warn("shown {} with {{braces}}", 2);
  log::SetLevel(log::Level::kInfo);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("hidden"), std::string::npos);
  EXPECT_NE(text.find(" W shown 2 with {braces}\n"), std::string::npos) << text;
}

TEST(Log, TextFromOutsideIsNotAFormat) {
  testing::internal::CaptureStderr();
  log::Warn("{}", "100% {} {0:q}");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("100% {} {0:q}"), std::string::npos);
}

TEST(Log, OncePerKeyAndBounded) {
  EXPECT_TRUE(log::LogOnce("a"));
  EXPECT_FALSE(log::LogOnce("a"));
  EXPECT_TRUE(log::LogOnce("b"));
  int accepted = 0;
  for (int i = 0; i < 10'000; ++i) accepted += log::LogOnce("key" + std::to_string(i));
  EXPECT_LT(accepted, 5'000);
}

TEST(Log, LevelsParse) {
  EXPECT_EQ(*log::ParseLevel("debug"), log::Level::kDebug);
  EXPECT_EQ(log::ParseLevel("loud").error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace wf
