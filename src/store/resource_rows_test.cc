#include "store/resource_rows.h"

#include <gtest/gtest.h>

#include "store/conformance.h"

namespace wf::store {
namespace {

ResourceQuery OnHost(size_t limit) {
  ResourceQuery query;
  query.keys = {{ResourceKey::kHost, "h"}};
  query.limit = limit;
  return query;
}

TEST(ResourceRows, HoldsNoMoreThanTwiceTheLimitHoweverMuchMatches) {
  const ResourceQuery query = OnHost(100);
  ResourceRows rows("default", query);
  size_t most = 0;
  // Latest first, the worst order: every batch pushes out all that was held.
  for (int64_t n = 200; n-- > 0;) {
    BatchBuilder b;
    b.Process("front", "h");
    for (uint64_t i = 0; i < 100; ++i)
      b.Span({1, static_cast<uint64_t>(n)}, i + 1, 0, kT0 + n * 1000 + static_cast<Nanos>(i), 5);
    rows.Offer(b.Take());
    most = std::max(most, rows.rows_held());
  }
  EXPECT_LT(most, 100u * 2 + 4096 + 100);
  EXPECT_FALSE(rows.MayTake(kT0 + 1001));
  EXPECT_TRUE(rows.MayTake(kT0));
  const ResourcePage page = rows.Finish();
  ASSERT_EQ(page.rows.size(), 100u);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(page.rows.start_ns[i], kT0 + static_cast<Nanos>(i));
  ASSERT_TRUE(page.next.has_value());
  EXPECT_EQ(page.next->start_ns, kT0 + 99);
}

TEST(ResourceRows, ARowOfferedTwiceIsTakenOnce) {
  const ResourceQuery query = OnHost(10);
  ResourceRows rows("default", query);
  for (int copy = 0; copy < 2; ++copy)
    rows.Offer(BatchBuilder().Process("front", "h").Span({1, 1}, 1, 0, kT0, 5).Take());
  const ResourcePage page = rows.Finish();
  EXPECT_EQ(page.rows.size(), 1u);
  EXPECT_FALSE(page.next.has_value());
}

}  // namespace
}  // namespace wf::store
