#include "store/open/open_store.h"

#include <gtest/gtest.h>

namespace wf::store {
namespace {

TEST(OpenStore, TellsPlacesApart) {
  EXPECT_TRUE(IsStoreUrl("clickhouse://localhost:8123/traces"));
  EXPECT_FALSE(IsStoreUrl("/var/lib/wherefore"));
  EXPECT_FALSE(IsStoreUrl("http://localhost:8642"));
  EXPECT_TRUE(IsServerUrl("https://traces.example"));
  EXPECT_FALSE(IsServerUrl("clickhouse://localhost:8123/traces"));
  for (const char* good : {"store", "/a/b:c", "http://x", "clickhouse://h:1/d"})
    EXPECT_TRUE(CheckStorePlace(good).ok()) << good;
  for (const char* bad : {"postgres://h/d", "clickhouse+tls://h/d", "://x"})
    EXPECT_FALSE(CheckStorePlace(bad).ok()) << bad;
}

TEST(OpenStore, SecretsAreNotShown) {
  EXPECT_EQ(WithoutSecrets("clickhouse://me:secret@h:1,g:2/d?cluster=c"),
            "clickhouse://h:1,g:2/d?cluster=c");
  EXPECT_EQ(WithoutSecrets("clickhouse://me:se@cret@h:1/d"), "clickhouse://h:1/d");
  EXPECT_EQ(WithoutSecrets("clickhouse://h:1/d"), "clickhouse://h:1/d");
  EXPECT_EQ(WithoutSecrets("/a/b@c"), "/a/b@c");
  const Status bad = CheckStorePlace("postgres://me:secret@h/d");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace wf::store
