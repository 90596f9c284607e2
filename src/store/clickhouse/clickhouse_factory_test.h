// Databases for tests, on the servers that WHEREFORE_CLICKHOUSE_URL names: its database's name with a number behind it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/client.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/sql_text.h"
#include "store/conformance.h"

namespace wf::store::clickhouse {

class ClickhouseFactory : public StoreFactory {
 public:
  ClickhouseFactory() {
    static std::atomic<int> made{0};
    const char* base = std::getenv("WHEREFORE_CLICKHOUSE_URL");
    // Without servers nothing is tested, and that must be seen.
    if (base == nullptr) {
      ADD_FAILURE()
          << "WHEREFORE_CLICKHOUSE_URL is not set: run tests/system/cluster/clickhouse_test.py";
      return;
    }
    url_ = base;
    const size_t parameters = url_.find('?');
    url_.insert(parameters == std::string::npos ? url_.size() : parameters,
                fmt::format("_{}_{}", getpid(), ++made));
    auto parsed = clickhouse::ParseStoreUrl(url_);
    if (!parsed.ok()) {
      ADD_FAILURE() << parsed.error().message;
      return;
    }
    client_ = std::make_unique<clickhouse::Client>(std::move(*parsed), clickhouse::ClientOptions());
  }
  ~ClickhouseFactory() override {
    if (client_ == nullptr) return;
    for (size_t shard = 0; shard < client_->shards(); ++shard) (void)client_->DropDatabase(shard);
  }
  Result<std::unique_ptr<Store>> Open() override { return OpenClickhouseStore(url_); }
  int64_t DiskBytes() override {
    int64_t total = 0;
    for (size_t shard = 0; shard < client_->shards(); ++shard) {
      const auto answer = client_->Ask(
          shard, "weighing",
          fmt::format("SELECT toInt64(sum(bytes_on_disk)) FROM system.parts WHERE active AND "
                      "database = {} FORMAT RowBinary",
                      clickhouse::Quote(client_->url().database)));
      EXPECT_TRUE(answer.ok());
      if (answer.ok()) total += clickhouse::RowReader(*answer).Number<int64_t>();
    }
    return total;
  }
  const std::string& url() const { return url_; }
  clickhouse::Client& client() { return *client_; }

 private:
  std::string url_;
  std::unique_ptr<clickhouse::Client> client_;  // its own, beside the store's
};

inline std::unique_ptr<StoreFactory> MakeClickhouseFactory() {
  return std::make_unique<ClickhouseFactory>();
}

}  // namespace wf::store::clickhouse
