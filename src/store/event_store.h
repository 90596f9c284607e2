// EventStore: events as they were received, by trace, by search and by resource.
//
// Two rows with the same tenant, trace id, span id and content hash are one event: appending never looks up, every read
// removes doubles and every count is of distinct events. Every call takes the tenant (a batch names its own); nothing of
// another tenant is ever seen. Thread safety: all calls, from any thread.
#pragma once

#include <cstdint>
#include <functional>
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
#include "model/event_batch.h"
#include "store/time_range.h"

namespace wf::store {

// What kept rows of a trace say about it, by recorded clocks: for search only, rebuilt from the events on every
// answer, never trusted.
struct TraceSummary {
  TraceId trace_id;
  // Of the main root: real before stand-in, then earliest, longest, smallest id.
  std::string service, name;
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
  // Span, scope or process attribute = text of value.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::optional<SpanStatus> status;
  std::optional<Nanos> min_duration_ns, max_duration_ns;  // of the trace
  // Of the matching span (Jaeger's meaning).
  std::optional<Nanos> min_span_duration_ns, max_span_duration_ns;
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

class EventStore {
 public:
  virtual ~EventStore() = default;

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
};

}  // namespace wf::store
