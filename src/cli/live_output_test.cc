#include "cli/live_output.h"

#include <gtest/gtest.h>

namespace wf::cli {
namespace {

TEST(LiveOutput, SparklineIsRelativeToItsGreatest) {
  EXPECT_EQ(Sparkline({0, 1, 2, 4, 8}), " ▁▂▄█");
  EXPECT_EQ(Sparkline({}), "");
  EXPECT_EQ(Sparkline({0, 0}), "  ");
  EXPECT_EQ(Sparkline({0.001, 1000}), "▁█") << "what there was is seen";
  EXPECT_EQ(Sparkline({-5, 5}), " █");
}

TEST(LiveOutput, TablesSayWhatWasLost) {
  LiveOutput output(LiveForm::kTables);
  testing::internal::CaptureStdout();
  ASSERT_TRUE(
      output
          .Interval(R"({"start_ns":1000000000,"end_ns":2000000000,"columns":["host","COUNT"],)"
                    R"("rows":[["a",3],[null,2.5]],"lost":7})")
          .ok());
  ASSERT_TRUE(output
                  .Interval(R"({"start_ns":2000000000,"end_ns":3000000000,"columns":["host"],)"
                            R"("rows":[],"lost":0})")
                  .ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "00:00:01.000 UTC, 1.00 s; 7 tuples lost\n"
            "host  COUNT\n"
            "a         3\n"
            "–       2.5\n"
            "00:00:02.000 UTC, 1.00 s: nothing\n");
}

TEST(LiveOutput, LinesOfJsonAreWhatTheServerSaid) {
  LiveOutput output(LiveForm::kJsonLines);
  testing::internal::CaptureStdout();
  ASSERT_TRUE(output.Interval("{\"start_ns\":1}").ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "{\"start_ns\":1}\n");
}

TEST(LiveOutput, AScreenIsDrawnInItsPlace) {
  LiveOutput output(LiveForm::kScreen);
  const std::string interval =
      R"({"start_ns":0,"end_ns":1000000000,"columns":["host","COUNT"],"rows":[["a",3]],"lost":0})";
  testing::internal::CaptureStdout();
  ASSERT_TRUE(output.Interval(interval).ok());
  ASSERT_TRUE(output.Interval(interval).ok());
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("\x1b[3A\x1b[J"), std::string::npos) << text;
  EXPECT_NE(text.find("██"), std::string::npos) << text;
}

}  // namespace
}  // namespace wf::cli
