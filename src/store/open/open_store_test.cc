#include "store/open/open_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace wf::store {
namespace {

TEST(OpenStore, TellsPlacesApart) {
  EXPECT_EQ(PlaceOf("clickhouse://localhost:8123/traces"), StorePlace::kDatabase);
  EXPECT_EQ(PlaceOf("/var/lib/wherefore"), StorePlace::kDirectory);
  EXPECT_EQ(PlaceOf("http://localhost:8642"), StorePlace::kServer);
  EXPECT_EQ(PlaceOf("https://traces.example"), StorePlace::kServer);
  for (const char* good : {"store", "/a/b:c", "http://x", "clickhouse://h:1/d"})
    EXPECT_TRUE(CheckStorePlace(good).ok()) << good;
  for (const char* bad : {"postgres://h/d", "clickhouse+tls://h/d", "://x"})
    EXPECT_FALSE(CheckStorePlace(bad).ok()) << bad;
}

TEST(OpenStore, ADirectoryIsNotShared) {
  char pattern[] = "/tmp/wherefore-open-XXXXXX";
  const std::string directory = mkdtemp(pattern);
  {
    const auto store = OpenStore(directory);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_FALSE((*store)->Traits().shared);
    EXPECT_TRUE((*store)->Traits().sql);
  }
  std::filesystem::remove_all(directory);
}

TEST(OpenStore, OrdinaryArgumentsAreNoEngineProcess) {
  char program[] = "wherefore", verb[] = "status";
  char* arguments[] = {program, verb, nullptr};
  EXPECT_EQ(RunEngineProcess(2, arguments), std::nullopt);
  EXPECT_EQ(RunEngineProcess(1, arguments), std::nullopt);
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
