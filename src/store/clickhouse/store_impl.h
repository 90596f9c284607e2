// ClickhouseStore: the parts it is made of, in several files. Events: append.cc, read.cc, search.cc, on_resource.cc,
// scan.cc, completion.cc, status.cc, event_retention.cc. Everything else: rows of datasets, documents, messages,
// attachments, clocks.
//
// Threads: any number of callers; a few senders, which take groups of batches off the queue. `mutex_` guards queue and
// counters; nothing slow is done under it.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/client.h"
#include "store/clickhouse/datasets.h"
#include "store/clickhouse/event_rows.h"
#include "store/clickhouse/placement.h"
#include "store/clickhouse/schema.h"
#include "store/clickhouse/sql_text.h"
#include "store/engine.h"

namespace wf::store::clickhouse {

class ClickhouseStore : public Engine {
 public:
  static Result<std::unique_ptr<Store>> Open(const std::string& url,
                                             const ClickhouseStoreOptions& options);
  ~ClickhouseStore() override;

  StoreTraits Traits() const override { return {.shared = true}; }
#include "store/engine_functions.inc"

  // For tests: what went over the wire.
  clickhouse::Client& client() { return client_; }

 private:
  friend class ClickhouseSearch;

  ClickhouseStore(clickhouse::StoreUrl url, const ClickhouseStoreOptions& options);

  // store_impl.cc
  Status Start();

  // append.cc
  void SendLoop();
  std::vector<Queued> TakeGroupLocked(std::unique_lock<std::mutex>& lock);
  Status SendGroup(std::vector<Queued>& group);
  void FinishGroup(std::vector<Queued>& group, const Status& status);
  Status SendToShard(size_t shard, const clickhouse::EncodedEvents& rows);

  // read.cc: rows that a condition (after WHERE) chooses, with these columns, over all shards. Distinct, by (trace,
  // start, id).
  Result<EventBatch> ReadWhere(const std::string& tenant, const std::string& condition,
                               clickhouse::EventColumns columns, std::string_view what);
  Status LoadOrigins(const std::string& tenant, const std::vector<uint64_t>& ids);

  // search.cc: has the tenant so many traces that a search had better look at the newest first?
  Result<bool> IsLarge(const std::string& tenant);

  // scan.cc: all rows of the condition (" AND …"), whole traces at a time, in the order of their ids.
  Status ReadSlices(const std::string& tenant, const std::string& condition,
                    const clickhouse::EventColumns& columns,
                    const std::function<bool(EventBatch)>& take);

  // event_retention.cc
  Status RetainEvents(const RetentionPolicy& policy);
  Status DropDay(uint16_t day, int64_t rows);
  Status DeleteReceivedBefore(Nanos oldest_kept, uint16_t day);
  // Of this store's database, over all shards, active parts.
  Result<int64_t> ReadDiskBytes();
  Status TellAge(std::optional<Nanos> max_age);

  // Rows' side of ReadStatus and Retain.
  Status CountRows(const std::string& tenant, StoreStatus& status);
  Status RetainSides(const RetentionPolicy& policy);
  // The time of receipt from which on a table's rows take at most so many bytes.
  Result<Nanos> OldestThatFits(const std::string& table, int64_t most);

  // side_tables.cc
  enum class DocumentChange { kPut, kDelete };
  Status WriteDocument(const std::string& tenant, const std::string& kind, const std::string& name,
                       std::string_view text, DocumentChange change);

  clickhouse::Client client_;
  const clickhouse::TableNames names_;
  const ClickhouseStoreOptions options_;
  clickhouse::ServerFeatures features_;
  clickhouse::Placement placement_;

  std::mutex mutex_;
  std::condition_variable work_;  // for the senders
  std::condition_variable idle_;  // for Flush: one group less is under way
  std::deque<Queued> queue_;
  size_t queue_bytes_ = 0;
  size_t queue_rows_ = 0;
  size_t rows_under_way_ = 0;
  uint64_t queued_ = 0;            // batches, ever
  std::set<uint64_t> unfinished_;  // their numbers
  double insert_tokens_ = 0;
  Nanos tokens_at_ = 0;  // monotonic
  bool stopping_ = false;

  // Side rows that a shard has, as far as this process wrote them: shard, day, hash of the row.
  std::mutex written_mutex_;
  std::set<std::tuple<size_t, uint16_t, uint64_t>> written_;

  // Origins by tenant and id: their content never changes.
  std::mutex origins_mutex_;
  std::map<std::pair<std::string, uint64_t>, std::shared_ptr<const clickhouse::Origin>> origins_;

  std::mutex age_mutex_;
  std::optional<std::optional<Nanos>> age_told_;  // to the servers, by this process

  // By tenant: what IsLarge found, and when.
  std::mutex sizes_mutex_;
  struct Size {
    bool large;
    Nanos known_at;  // monotonic
  };
  std::map<std::string, Size> sizes_;

  std::mutex documents_mutex_;  // held while a document or clocks are written
  std::unique_ptr<clickhouse::Datasets> datasets_;

  std::vector<std::thread> senders_;
};

}  // namespace wf::store::clickhouse
