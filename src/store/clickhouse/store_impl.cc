#include "store/clickhouse/store_impl.h"

#include <cstdlib>

namespace wf {
namespace {

click::ClientOptions ClientOptionsOf(const ClickhouseStoreOptions& options) {
  click::ClientOptions out;
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
  WF_ASSIGN(click::StoreUrl parsed, click::ParseStoreUrl(url));
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

ClickhouseStore::ClickhouseStore(click::StoreUrl url, const ClickhouseStoreOptions& options)
    : client_(std::move(url), ClientOptionsOf(options)),
      names_(client_.url()),
      options_(options),
      insert_tokens_(options.insert_burst),
      tokens_at_(MonotonicNow()) {}

Status ClickhouseStore::Start() {
  WF_ASSIGN(features_, click::PrepareSchema(client_));
  datasets_ = std::make_unique<click::Datasets>(
      client_, names_, features_, [](TraceId id, size_t shards) { return ShardOf(id, shards); },
      options_.retry_for);
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

void ClickhouseStore::Count(const std::string& name, int64_t n) {
  const std::lock_guard lock(mutex_);
  counters_[name] += n;
}

// By the trace alone: whatever process receives its events, and whenever, they lie together.
size_t ClickhouseStore::ShardOf(TraceId id, size_t shards) {
  return MixBits(id.lo ^ MixBits(id.hi)) % shards;
}

}  // namespace wf
