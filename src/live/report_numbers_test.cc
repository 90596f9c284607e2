#include "live/report_numbers.h"

#include <gtest/gtest.h>

namespace wf::live {
namespace {

TEST(ReportNumbers, EachIsTakenOnce) {
  ReportNumbers numbers;
  EXPECT_TRUE(numbers.Take("a", 1));
  EXPECT_TRUE(numbers.Take("a", 2));
  EXPECT_FALSE(numbers.Take("a", 1));
  EXPECT_FALSE(numbers.Take("a", 2));
  EXPECT_TRUE(numbers.Take("a", 7)) << "some were dropped by the sender";
  EXPECT_TRUE(numbers.Take("b", 1)) << "of another run";
}

TEST(ReportNumbers, SendersThatComeAndGoTakeNoMemory) {
  ReportNumbers numbers;
  EXPECT_TRUE(numbers.Take("stays", 1));
  for (size_t i = 0; i < 3 * ReportNumbers::kMost; ++i) {
    numbers.Take("r" + std::to_string(i), 1);
    if (i % 1'000 == 0) {
      EXPECT_FALSE(numbers.Take("stays", 1));
    }
  }
  EXPECT_EQ(numbers.runs(), ReportNumbers::kMost);
  EXPECT_FALSE(numbers.Take("stays", 1));
}

}  // namespace
}  // namespace wf::live
