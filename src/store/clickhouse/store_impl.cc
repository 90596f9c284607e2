#include "store/clickhouse/store_impl.h"

#include <cstdlib>

namespace wf::store::clickhouse {
namespace {

clickhouse::ClientOptions ClientOptionsOf(const ClickhouseStoreOptions& options) {
  clickhouse::ClientOptions out;
  out.connect_timeout = options.connect_timeout;
  out.timeout = options.timeout;
  out.retry_for = options.retry_for;
  out.ca_file = options.ca_file;
  return out;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenClickhouseStore(const std::string& url,
                                                   const ClickhouseStoreOptions& options) {
  return ClickhouseStore::Open(url, options);
}

Result<std::unique_ptr<Store>> ClickhouseStore::Open(const std::string& url,
                                                     const ClickhouseStoreOptions& options) {
  WF_ASSIGN(clickhouse::StoreUrl parsed, clickhouse::ParseStoreUrl(url));
  if (!options.password.empty()) parsed.password = options.password;
  // Where a password in the address would be seen by everybody who lists processes.
  if (const char* secret = std::getenv("WHEREFORE_CLICKHOUSE_PASSWORD");
      parsed.password.empty() && secret != nullptr) {
    parsed.password = secret;
  }
  std::unique_ptr<ClickhouseStore> store(new ClickhouseStore(std::move(parsed), options));
  WF_TRY(store->Start());
  return std::unique_ptr<Store>(std::move(store));
}

ClickhouseStore::ClickhouseStore(clickhouse::StoreUrl url, const ClickhouseStoreOptions& options)
    : client_(std::move(url), ClientOptionsOf(options)),
      names_(client_.url()),
      options_(options),
      placement_({client_.shards()}),
      insert_tokens_(options.insert_burst),
      tokens_at_(MonotonicNow()) {}

Status ClickhouseStore::Start() {
  client_.SetPatience(options_.open_patience);
  WF_ASSIGN(features_, clickhouse::PrepareSchema(client_));
  WF_ASSIGN(std::set<size_t> counts, clickhouse::ReadShardCounts(client_));
  const bool grown = counts.insert(client_.shards()).second;
  placement_ = clickhouse::Placement(std::move(counts));
  datasets_ = std::make_unique<clickhouse::Datasets>(client_, names_, features_, placement_,
                                                     options_.retry_for);
  if (grown) {
    WF_TRY(clickhouse::CheckClusters(client_));
    WF_TRY(datasets_->MakeAllTables());
    WF_TRY(clickhouse::AddShardCount(client_));  // last: whoever finds it finds the tables
  }
  client_.SetPatience(options_.retry_for);
  for (int i = 0; i < options_.senders; ++i) senders_.emplace_back([this] { SendLoop(); });
  return {};
}

ClickhouseStore::~ClickhouseStore() {
  client_.Hurry();  // a server that is down must not keep us
  datasets_.reset();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  // What is queued is still sent, once; who gets an error sends again.
  client_.Hurry();
  work_.notify_all();
  for (std::thread& sender : senders_) sender.join();
}

}  // namespace wf::store::clickhouse
