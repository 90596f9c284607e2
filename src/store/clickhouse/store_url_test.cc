#include "store/clickhouse/store_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/clickhouse/clickhouse_store.h"

namespace wf::store::clickhouse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Reason(const std::string& text) {
  const auto parsed = ParseStoreUrl(text);
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(StoreUrl, OneServer) {
  const auto url = ParseStoreUrl("clickhouse://db:8123/traces");
  ASSERT_TRUE(url.ok());
  ASSERT_EQ(url->shards.size(), 1u);
  EXPECT_EQ(url->shards[0].text(), "db:8123");
  EXPECT_EQ(url->database, "traces");
  EXPECT_EQ(url->user, "default");
  EXPECT_EQ(url->password, "");
  EXPECT_FALSE(url->secure);
}

TEST(StoreUrl, ShardsInAnyOrderAreTheSame) {
  const auto a = ParseStoreUrl("clickhouse://b:1,a:2,[::1]:3/d?cluster=c");
  const auto b = ParseStoreUrl("clickhouse://[::1]:3,b:1,a:2/d?cluster=c");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->display(), b->display());
  EXPECT_EQ(a->display(), "clickhouse://[::1]:3,a:2,b:1/d");
}

TEST(StoreUrl, UserAndPasswordAreDecodedAndNotShown) {
  const auto url = ParseStoreUrl("clickhouse://me%40x:p%2Fw%3a1@h:1/d?secure=1&compression=gzip");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->user, "me@x");
  EXPECT_EQ(url->password, "p/w:1");
  EXPECT_TRUE(url->secure);
  EXPECT_TRUE(url->compress);
  EXPECT_THAT(url->display(), Not(HasSubstr("p/w")));
  EXPECT_EQ(ParseStoreUrl("clickhouse://u:a@b:c@h:1/d")->password, "a@b:c");
}

TEST(StoreUrl, ErrorsNameThePlaceAndNeverTheSecret) {
  EXPECT_THAT(Reason("kafka://h:1/d"), HasSubstr("does not begin"));
  EXPECT_THAT(Reason("clickhouse://h:1"), HasSubstr("database is missing"));
  EXPECT_THAT(Reason("clickhouse://h:1/"), HasSubstr("database's name"));
  EXPECT_THAT(Reason("clickhouse://h:1/a.b"), HasSubstr("database's name"));
  EXPECT_THAT(Reason("clickhouse://h:1/1a"), HasSubstr("database's name"));
  EXPECT_THAT(Reason("clickhouse://h:1/a;DROP"), HasSubstr("database's name"));
  EXPECT_THAT(Reason("clickhouse://h:0/d"), HasSubstr("shard 1: its port"));
  EXPECT_THAT(Reason("clickhouse://a:1,:2/d?cluster=c"), HasSubstr("shard 2 has no host"));
  EXPECT_THAT(Reason("clickhouse://a:1,a:1/d?cluster=c"), HasSubstr("listed twice"));
  EXPECT_THAT(Reason("clickhouse://a:1,b:1/d"), HasSubstr("?cluster=NAME"));
  EXPECT_THAT(Reason("clickhouse://a:1/d?cluster=a'b"), HasSubstr("cluster's name"));
  EXPECT_THAT(Reason("clickhouse://a:1/d?shards=2"), HasSubstr("parameters"));
  for (const char* text : {"clickhouse://u:secret@h:x/d", "clickhouse://u:secret%zz@h:1/d",
                           "clickhouse://u:secret%0a@h:1/d", "clickhouse://u:secret@/d"}) {
    EXPECT_FALSE(ParseStoreUrl(text).ok()) << text;
    EXPECT_THAT(Reason(text), Not(HasSubstr("secret")));
  }
}

TEST(StoreUrl, IsToldByItsScheme) {
  EXPECT_TRUE(IsClickhouseUrl("clickhouse://h:1/d"));
  EXPECT_FALSE(IsClickhouseUrl("/var/lib/wherefore"));
  EXPECT_FALSE(IsClickhouseUrl("http://h"));
}

}  // namespace
}  // namespace wf::store::clickhouse
