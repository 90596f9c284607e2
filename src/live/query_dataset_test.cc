#include "live/query_dataset.h"

#include <gtest/gtest.h>

#include "live/live_query_lab_test.h"

namespace wf::live {
namespace {

class QueryDatasetTest : public testing::Test {
 protected:
  void Append(const std::string& dataset, Nanos at) {
    const ClosedInterval interval{at, at + kSecond, 0, {{advice::Value(int64_t{1})}}};
    ASSERT_TRUE(AppendQueryRows(*folder_.store, "default", dataset, {"n"}, interval).ok());
  }
  int64_t RowsOf(const std::string& dataset) {
    const auto stored = folder_.store->ReadDatasets("default");
    EXPECT_TRUE(stored.ok());
    for (const store::DatasetStatus& one : *stored)
      if (one.name == dataset) return one.rows;
    return 0;
  }
  live_testing::StoreFolder folder_;
};

TEST_F(QueryDatasetTest, RowsAreAgedAsOthersAre) {
  ASSERT_TRUE(KeepQueryDataset(*folder_.store, "default", "asked").ok());
  ASSERT_TRUE(KeepQueryDataset(*folder_.store, "default", "asked").ok());
  for (const char* dataset : {"asked", "left"}) {
    Append(dataset, Now() - 100 * kDay);
    Append(dataset, Now() - 10 * kDay);
    Append(dataset, Now());
  }
  ASSERT_TRUE(RetainQueryDatasets(*folder_.store, "default", std::nullopt).ok());
  EXPECT_EQ(RowsOf("asked"), 2) << "after 90 days";
  ASSERT_TRUE(RetainQueryDatasets(*folder_.store, "default", 365 * kDay).ok());
  EXPECT_EQ(RowsOf("asked"), 2);
  ASSERT_TRUE(RetainQueryDatasets(*folder_.store, "default", 7 * kDay).ok());
  EXPECT_EQ(RowsOf("asked"), 1) << "as --retention-age says";
  EXPECT_EQ(RowsOf("left"), 3) << "of a dataset whose definition is gone: not ours";
}

}  // namespace
}  // namespace wf::live
