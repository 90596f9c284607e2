// DuckdbStore: the parts it is made of, in several files: opening and closing (store_impl.cc), appending
// (append.cc), writing segments (flush.cc), reading traces (read.cc), search.cc, scan.cc, completion.cc,
// retention.cc, side_tables.cc, side_retention.cc, documents.cc; rows of datasets lie in files of their own
// (dataset_files.h).
//
// Threads: any number of callers; one log thread; one flusher. `mutex_` guards the queue, both buffers and the list of
// segments; nothing slow is done under it. `layout_mutex_` is held shared by short reads and exclusively while small
// segments are rewritten, so that no reader looks for rows that have moved; long scans pin instead.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "store/directory.h"
#include "store/duckdb/dataset_files.h"
#include "store/duckdb/duckdb_store.h"
#include "store/duckdb/part.h"
#include "store/duckdb/row_decoder.h"
#include "store/engine.h"

namespace wf::store::duckdb {

class DuckdbStore : public Engine {
 public:
  static Result<std::unique_ptr<Store>> Open(const std::string& directory,
                                             const DuckdbStoreOptions& options);
  ~DuckdbStore() override;

  StoreTraits Traits() const override { return {}; }
#include "store/engine_functions.inc"

 private:
  // Acknowledged rows that are not yet in a part, and the log files that hold them.
  struct Pending {
    BatchList batches;
    size_t rows = 0;
    size_t bytes = 0;
    Nanos since = 0;  // monotonic; when the first row came
    std::vector<uint64_t> logs;
  };
  // What a read sees: taken at once, used without locks.
  struct Snapshot {
    BatchList pending;     // of one tenant
    SegmentList segments;  // of one tenant, oldest first
  };
  // A connection lent to one thread.
  class Lease {
   public:
    Lease(DuckdbStore& store, std::unique_ptr<duck::Connection> c)
        : store_(store), connection_(std::move(c)) {}
    Lease(Lease&&) = default;
    ~Lease();
    duck::Connection& operator*() { return *connection_; }
    duck::Connection* operator->() { return connection_.get(); }

   private:
    DuckdbStore& store_;
    std::unique_ptr<duck::Connection> connection_;
  };
  // Adds the CPU time of a stage, on this thread, to the counter cpu_ns_STAGE: the bench prints them by span.
  class StageCpu {
   public:
    StageCpu(DuckdbStore& store, const char* stage);
    ~StageCpu();

   private:
    DuckdbStore& store_;
    const char* stage_;
    int64_t before_;
  };
  // Rows of one tenant on their way into a segment.
  struct TenantRows;

  DuckdbStore(std::string directory, const DuckdbStoreOptions& options, DirectoryLock lock);

  // store_impl.cc
  Status Start();
  Status OpenParts();
  Status Replay();
  std::string Folder(const char* name) const { return directory_ + "/" + name; }
  Result<Lease> Borrow();
  Snapshot Look(const std::string& tenant);
  Result<std::shared_ptr<const SegmentDictionary>> DictionaryOf(const Segment& segment);

  // append.cc
  bool IsFull(const Pending& pending) const {
    return pending.rows >= options_.segment_rows || pending.bytes >= pending_bytes_limit_;
  }
  void LogLoop();
  Status LogGroup(std::vector<Queued>& group);
  void SealLocked(std::unique_lock<std::mutex>& lock);

  // flush.cc
  void FlushLoop();
  enum class Merge { kNone, kSmallSegments };
  Status WritePending(Pending& pending);
  Status WritePendingLocked(Pending& pending, Merge merge);
  Status RemoveStoredDoubles(TenantRows& tenant, const SegmentList& segments);
  Status TakeInSmallSegments(TenantRows& tenant, const SegmentList& segments);
  Status WriteTenants(std::vector<std::unique_ptr<TenantRows>>& tenants, const Pending& pending,
                      SegmentList& written);
  bool PartFits();
  Status StartPart();

  // read.cc
  // Which columns of a segment are needed; none given: all.
  using ColumnChoice = std::function<uint64_t(const SegmentDictionary&)>;
  Status ReadStored(const std::string& tenant, const std::vector<TraceId>& ids,
                    const SegmentList& segments, BatchList& out, std::vector<uint64_t>* segment_ids,
                    const ColumnChoice& columns = {});
  Result<EventBatch> ReadFrom(const Snapshot& snapshot, const std::string& tenant,
                              std::vector<TraceId> ids, const ColumnChoice& columns = {});

  // search.cc
  friend class Searcher;

  // side_tables.cc
  enum class SideTables { kIfThere, kMake };
  Status OpenSideTables(SideTables make);
  Status AttachSideTables(duck::Connection& connection);  // under side_mutex_
  Status CountSideTables(const std::string& tenant, StoreStatus& status);

  // side_retention.cc
  // Messages and attachments received one after another, and the room that they take on disk.
  struct SidePiece {
    Nanos newest;
    int64_t bytes;
  };
  Result<std::vector<SidePiece>> WeighSideTables();
  Status RetainSideTables(Nanos oldest_kept);
  Status RewriteSideTables(duck::Connection& connection);

  // retention.cc
  bool PendingBlocksRetention(const RetentionPolicy& policy);
  Status RetireParts(const std::vector<uint64_t>& numbers);

  const std::string directory_;
  const DuckdbStoreOptions options_;
  DirectoryLock lock_;
  std::unique_ptr<duck::Database> database_;

  std::mutex mutex_;
  std::condition_variable work_;    // for the log thread
  std::condition_variable sealed_;  // for the flusher
  std::condition_variable idle_;    // for Flush and the log thread: the flusher finished one
  std::deque<Queued> queue_;
  size_t queue_bytes_ = 0;
  std::shared_ptr<Pending> filling_ = std::make_shared<Pending>();
  std::shared_ptr<Pending> writing_;  // sealed, being written; null when the flusher is free
  SegmentList segments_;
  uint64_t seals_asked_ = 0, seals_done_ = 0;
  Status flush_status_;
  bool stopping_ = false;
  std::atomic<size_t> pending_bytes_limit_;  // max_pending_bytes, or less under retention by bytes

  std::shared_timed_mutex layout_mutex_;
  std::atomic<int> pins_{0};

  // The flusher's, or under flush_mutex_.
  std::mutex flush_mutex_;
  std::shared_ptr<Part> active_;
  size_t active_segments_ = 0;
  uint64_t next_segment_ = 1, next_part_ = 1, applied_log_ = 0;
  std::vector<std::weak_ptr<Part>> doomed_;  // retired, but still read by somebody, and so on disk
  std::optional<int64_t> part_bytes_limit_;
  std::optional<Nanos> part_age_limit_;

  // The log thread's.
  std::unique_ptr<LogWriter> log_;
  uint64_t next_log_ = 1;

  std::mutex connections_mutex_;
  std::vector<std::unique_ptr<duck::Connection>> connections_;

  std::mutex dictionary_mutex_;
  struct Cached {
    uint64_t segment;
    std::shared_ptr<const SegmentDictionary> dictionary;
    size_t bytes;
  };
  std::list<Cached> dictionaries_;  // most recently used first
  size_t dictionary_bytes_ = 0;

  // Shared by readers of state.duckdb, exclusive for its writers, who may also put another file in its place.
  std::shared_mutex side_mutex_;
  std::atomic<bool> side_open_{false};
  int64_t side_dead_bytes_ = 0;  // deleted since the file was last written anew

  DatasetFiles datasets_;

  std::thread log_thread_, flush_thread_;
};

}  // namespace wf::store::duckdb
