#include "analysis/paths/paths_inference.h"

#include <gtest/gtest.h>

namespace wf::paths {
namespace {

TEST(PathsInference, TheChoiceIsStated) {
  std::string why;
  PairingCounts counts;
  counts.messages = 200, counts.calls = 95, counts.msgs = 10;
  EXPECT_EQ(ChooseAlgorithm(counts, why), PathAlgorithm::kLinking);  // 5%, not over
  counts.msgs = 11;
  EXPECT_EQ(ChooseAlgorithm(counts, why), PathAlgorithm::kConvolution);
  EXPECT_NE(why.find("5.5% of the messages are one-way"), std::string::npos) << why;
  counts.msgs = 0, counts.calls = 100, counts.unpaired_calls = 50;
  EXPECT_EQ(ChooseAlgorithm(counts, why), PathAlgorithm::kLinking);  // half, not under
  counts.unpaired_calls = 51;
  EXPECT_EQ(ChooseAlgorithm(counts, why), PathAlgorithm::kConvolution);
  EXPECT_NE(why.find("only 49.0% of the calls"), std::string::npos) << why;
}

}  // namespace
}  // namespace wf::paths
