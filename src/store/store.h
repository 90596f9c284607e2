// Store: where events, messages, attachments, saved texts and rows of datasets are kept. One interface, one table
// definition (table.h), several engines; conformance.h holds the suite that each must pass.
//
// Every call takes the tenant; nothing of another tenant is ever seen. Two rows with the same tenant, trace id, span
// id and content hash are one event: appending never looks up, every read removes doubles and every count is of
// distinct events. Thread safety: all calls, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/nanos.h"
#include "base/result.h"
#include "model/clock.h"
#include "model/dataset_query.h"
#include "model/dataset_table.h"
#include "model/event_batch.h"
#include "model/message.h"

namespace wf::store {

// Half-open: from <= t < until.
struct TimeRange {
  Nanos from = INT64_MIN;
  Nanos until = INT64_MAX;
};

// What kept rows of a trace say about it, by recorded clocks: for search only, rebuilt from the events on every
// answer, never trusted.
struct TraceSummary {
  TraceId trace_id;
  std::string service,
      name;  // of the main root: real before stand-in, then earliest, longest, smallest id
  Nanos start_ns = 0;
  Nanos duration_ns = 0;
  int64_t spans = 0;
  int64_t errors = 0;
  bool complete = false;  // one root, no missing parent, no missing end
};

// A position in search results: newest start first, then greater trace id first. Opaque text outside.
struct SearchCursor {
  Nanos start_ns = INT64_MAX;
  TraceId trace_id{UINT64_MAX, UINT64_MAX};
};

// A trace matches when one of its spans has the service, operation, attributes and status asked for, and the trace
// as a whole has the duration and starts in the time range.
struct TraceQuery {
  std::optional<std::string> service;
  std::optional<std::string> operation;
  std::vector<std::pair<std::string, std::string>>
      attributes;  // span, scope or process attribute = text of value
  std::optional<SpanStatus> status;
  std::optional<Nanos> min_duration_ns, max_duration_ns;  // of the trace
  std::optional<Nanos> min_span_duration_ns,
      max_span_duration_ns;  // of the matching span (Jaeger's meaning)
  TimeRange time;
  size_t limit = 20;
  std::optional<SearchCursor> cursor;
};

struct SearchPage {
  std::vector<TraceSummary> traces;
  std::optional<SearchCursor> next;  // set when there is more
};

// The keys of resources that are stored as columns. Which resources a span holds is computed when asked.
enum class ResourceKey { kHost, kInstance, kPid, kThread, kPartition, kPool, kResource };
// A position in what ran on a resource: earliest start first. The content's hash tells rows with one id apart.
struct ResourceCursor {
  Nanos start_ns = INT64_MIN;
  TraceId trace_id;
  uint64_t id1 = 0;
  Hash128 content;
  bool operator<(const ResourceCursor& o) const {
    return std::tie(start_ns, trace_id, id1, content) <
           std::tie(o.start_ns, o.trace_id, o.id1, o.content);
  }
};
struct ResourceQuery {
  std::vector<std::pair<ResourceKey, std::string>> keys;  // all must hold
  TimeRange time;                                         // spans that overlap it
  size_t limit = 10'000;
  std::optional<ResourceCursor> cursor;
};
struct ResourcePage {
  EventBatch rows;
  std::optional<ResourceCursor> next;  // set when there is more
};

// For a scan of columns instead of whole rows: what somebody wants to see. An engine leaves out what else it can, but
// need not: other rows and attributes may come. Events that are no spans come whatever their names (`overlaps` is of
// their time); spans without start or end always come.
struct EventSelection {
  std::vector<std::string> names;       // of spans, or of points in them
  std::vector<std::string> attributes;  // keys, of the spans themselves
  TimeRange overlaps;                   // some instant of the span lies in it
};

struct ScanOptions {
  TimeRange time;            // of the event's start
  TimeRange received;        // of its receipt
  size_t batch_rows = 4096;  // rows of one trace are never split over two batches
  // Then only what it says is certain to be in a row; parents and links are not.
  std::optional<EventSelection> select = std::nullopt;
};

// An engine's facts for `status` and /metrics.
struct StoreStatus {
  int64_t spans = 0;   // distinct events of type span
  int64_t events = 0;  // distinct events of all types
  int64_t traces = 0;
  int64_t disk_bytes = 0;
  int64_t pending_rows = 0;  // acknowledged, not yet in a part
  int64_t messages = 0, attachments = 0;
  Nanos oldest_ns = 0, newest_ns = 0;
  int64_t dataset_rows = 0, dataset_bytes = 0;  // of all datasets; the bytes are part of disk_bytes
  std::map<std::string, int64_t> counters;      // named: doubles removed, rows retired, ...
};

// What is kept of a tenant, about.
struct TenantUse {
  std::string tenant;
  int64_t events = 0;  // doubles may count twice
  int64_t bytes = 0;
};

struct RetentionPolicy {
  std::optional<Nanos> max_age_ns;   // counts from receipt
  std::optional<int64_t> max_bytes;  // of the directory
};

struct Attachment {
  TraceId trace_id;
  std::string kind;                 // "recording", "capture", ...
  std::vector<std::string> chunks;  // in order
};

// A small text that somebody saved under a name: a dataset's definition, a dashboard, a sampling policy, … Kinds are
// apart from each other.
struct Document {
  std::string name;
  std::string text;
  Nanos written_ns = 0;  // set by the store
};

// Traces that were processed again: all their earlier rows of the dataset go, in the same transaction. The rows lie in
// `time` by their time_ns (the trace's start as it was known then); the narrower, the less is looked through.
struct RowReplacement {
  std::vector<TraceId> traces;
  TimeRange time;
};

// A dataset as stored. A column whose type changed is another column from then on: queries by its name see the newest
// version, the older one keeps its values as NAME@VERSION.
struct StoredColumn {
  ColumnDefinition definition;
  int64_t queries = 0;  // that used it
};
struct DatasetStatus {
  std::string name;
  int64_t rows = 0;                    // stored
  int64_t bytes = 0;                   // on disk
  Nanos oldest_ns = 0, newest_ns = 0;  // of time_ns; 0 when there are no rows
  std::vector<StoredColumn>
      columns;  // fixed ones first, then in the order of their first appearance
  std::optional<Nanos> sampled_before;  // rows older than this were subsampled
};

// How long rows of a dataset are kept, by time_ns.
struct RowRetention {
  std::optional<Nanos> max_age_ns;
  // Of rows older than this, one in `keep_one_in` is kept, chosen by a hash, and stands for all of them.
  std::optional<Nanos> subsample_after_ns;
  int64_t keep_one_in = 10;
};

// The answer to a text of SQL, and whose SQL it was.
struct SqlRows {
  DatasetRows rows;
  std::string dialect;  // "DuckDB 1.4.1"
};

// Tells a message from all others.
Hash128 HashOf(const Message& message);

// Tells a set of messages from others: their number, and their hashes put together.
struct MessagesDigest {
  uint64_t count = 0;
  Hash128 hash;
  bool operator==(const MessagesDigest&) const = default;
};

// What one engine can do and another cannot.
struct StoreTraits {
  // Other processes may have it open at the same time, and see and change what is in it.
  bool shared = false;
  // RunSql works. Where it does not, it is kBadInput.
  bool sql = true;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual StoreTraits Traits() const = 0;

  // Takes the batch; `done` is called once, from any thread, when it is durable (or failed). kOverloaded means that
  // nothing was kept and the sender should come again later.
  using Done = std::function<void(Status)>;
  virtual void Append(EventBatch batch, Done done) = 0;
  Status AppendAndWait(EventBatch batch);  // for import and tests
  // Sees every batch that becomes durable from now on, shared, before its `done` is called; one at a time, on the thread
  // that made it so, and therefore quickly. There is one listener; an empty function takes its place. When this returns,
  // the one before is not running any more.
  using Listener = std::function<void(const std::shared_ptr<const EventBatch>&)>;
  virtual void Listen(Listener listener) = 0;

  // All distinct events of a trace, in (start, id) order. Empty when there are none.
  virtual Result<EventBatch> ReadTrace(const std::string& tenant, TraceId id) = 0;
  // Several traces at once: all their distinct events, grouped by trace.
  virtual Result<EventBatch> ReadTraces(const std::string& tenant,
                                        const std::vector<TraceId>& ids) = 0;
  virtual Result<SearchPage> Search(const std::string& tenant, const TraceQuery& query) = 0;
  virtual Result<ResourcePage> OnResource(const std::string& tenant,
                                          const ResourceQuery& query) = 0;
  // Every distinct event (of the selection), trace by trace within a batch; stops when `take` returns false.
  using Take = std::function<bool(EventBatch)>;
  virtual Status Scan(const std::string& tenant, const ScanOptions& options, const Take& take) = 0;

  // Completion: sorted, distinct, at most `limit`.
  virtual Result<std::vector<std::string>> Services(const std::string& tenant) = 0;
  struct Operation {
    std::string name;
    SpanKind kind;
    auto operator<=>(const Operation&) const = default;
  };
  virtual Result<std::vector<Operation>> Operations(const std::string& tenant,
                                                    const std::string& service) = 0;
  virtual Result<std::vector<std::string>> AttributeKeys(const std::string& tenant,
                                                         std::string_view prefix, size_t limit) = 0;
  virtual Result<std::vector<std::string>> AttributeValues(const std::string& tenant,
                                                           const std::string& key,
                                                           std::string_view prefix,
                                                           size_t limit) = 0;

  // What black boxes show, and opaque files that belong to a trace. Durable when they return; a message or an
  // attachment that is there already (same content) is not kept twice.
  virtual Status AppendMessages(const std::string& tenant,
                                const std::vector<Message>& messages) = 0;
  // By time, then by all else: what is there decides what comes.
  virtual Result<std::vector<Message>> ReadMessages(const std::string& tenant, TimeRange time) = 0;
  // Of what ReadMessages gives: equal when it is the same. Engines need not read the messages for it; this one does.
  virtual Result<MessagesDigest> DigestMessages(const std::string& tenant, TimeRange time);
  virtual Status PutAttachment(const std::string& tenant, const Attachment& attachment) = 0;
  virtual Result<std::vector<Attachment>> ReadAttachments(const std::string& tenant,
                                                          TraceId id) = 0;

  // Clock offsets solved over the exchanges of all traces (pipeline/clock_refresh.h). Replaces those of the same host that
  // start in [first, last] of what is given.
  virtual Status WriteClocks(const std::string& tenant, const std::vector<ClockOffset>& clocks) = 0;
  virtual Result<std::vector<ClockOffset>> ReadClocks(const std::string& tenant,
                                                      TimeRange time) = 0;
  // The tightest message delays seen between hosts, per time window (model/clock.h), over all events kept.
  virtual Result<std::vector<ClockExchange>> ReadExchanges(const std::string& tenant,
                                                           TimeRange time) = 0;

  // Saved texts. Durable when they return. Put replaces; Delete of what is not there is kNotFound. Read: by name.
  virtual Status PutDocument(const std::string& tenant, const std::string& kind,
                             const std::string& name, std::string_view text) = 0;
  virtual Result<std::vector<Document>> ReadDocuments(const std::string& tenant,
                                                      const std::string& kind) = 0;
  virtual Status DeleteDocument(const std::string& tenant, const std::string& kind,
                                const std::string& name) = 0;

  // Rows of datasets. The table begins with FixedDatasetColumns. All of it, with the replacement, or nothing; durable
  // when it returns. The dataset is made when first written. Columns it does not have yet are added, null for the rows
  // before; columns that the table lacks are null for its rows. Replacing alone (no rows) is allowed.
  virtual Status WriteRows(const std::string& tenant, const std::string& dataset,
                           const DatasetTable& rows, const RowReplacement& replace = {}) = 0;
  // kNotFound for a dataset that was never written; kBadInput for a column that is not there, or a comparison or
  // aggregate that its type does not have.
  virtual Result<DatasetRows> QueryRows(const std::string& tenant, const std::string& dataset,
                                        const DatasetQuery& query) = 0;
  virtual Result<std::vector<DatasetStatus>> ReadDatasets(
      const std::string& tenant) = 0;  // by name
  // Deletes the rows; nothing to delete is no error.
  virtual Status DropDataset(const std::string& tenant, const std::string& dataset) = 0;
  virtual Status RetainRows(const std::string& tenant, const std::string& dataset,
                            const RowRetention& retention) = 0;
  // One SELECT in the engine's own SQL over the tenant's datasets, as tables of their names. It runs where it can reach
  // nothing else, for at most 30 s and 1 GB.
  virtual Result<SqlRows> RunSql(const std::string& tenant, const std::string& sql) = 0;

  virtual Result<StoreStatus> ReadStatus(const std::string& tenant) = 0;
  // Everybody of whom there is anything, by name. This one knows of "default" alone, for engines that cannot tell.
  virtual Result<std::vector<TenantUse>> ReadTenants();
  // Writes what waits in memory into a part; merges small parts.
  virtual Status Flush() = 0;
  virtual Status Retain(const RetentionPolicy& policy) = 0;
};

}  // namespace wf::store
