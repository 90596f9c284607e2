// Every event, in slices of trace ids: a histogram of the ids tells where to cut, so that each slice is of about one
// size, whatever the ids look like, and holds whole traces. Slices are read in order; the next one is under way while
// one is handed over.
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "store/clickhouse/store_impl.h"
#include "store/summary.h"

namespace wf::store::clickhouse {
namespace {

constexpr int64_t kSliceBytes = 24 << 20;  // of rows as inserted; an answer is about that
constexpr uint64_t kBuckets = 512;         // of one histogram

struct Slice {
  TraceId first, last;  // both included
};

std::string InSlice(const Slice& slice) {
  if (slice.first.hi == slice.last.hi) {
    return fmt::format("trace_hi = {} AND trace_lo >= {} AND trace_lo <= {}", slice.first.hi,
                       slice.first.lo, slice.last.lo);
  }
  return fmt::format("trace_hi >= {} AND trace_hi <= {}", slice.first.hi, slice.last.hi);
}

// Cuts a range of ids, which is either of whole high halves or within one.
class Slicer {
 public:
  Slicer(clickhouse::Client& client, std::string table, std::string condition)
      : client_(client), table_(std::move(table)), condition_(std::move(condition)) {}

  Status Cut(const Slice& range) {
    const bool by_hi = range.first.hi != range.last.hi;
    const char* const half = by_hi ? "trace_hi" : "trace_lo";
    const uint64_t first = by_hi ? range.first.hi : range.first.lo;
    const uint64_t last = by_hi ? range.last.hi : range.last.lo;
    const uint64_t width = (last - first) / kBuckets + 1;
    WF_ASSIGN(
        const std::string answer,
        client_.AskAny("counting events by trace",
                       fmt::format("SELECT intDiv(toUInt64({0} - {1}), {2}) AS bucket, min({0}), "
                                   "max({0}), sum(toUInt64(bytes)) FROM {3} PREWHERE {4} WHERE {5} "
                                   "GROUP BY bucket ORDER BY bucket FORMAT RowBinary",
                                   half, first, width, table_, InSlice(range), condition_)));
    struct Bucket {
      uint64_t least, greatest;
      int64_t bytes;
    };
    std::vector<Bucket> buckets;
    clickhouse::RowReader reader(answer);
    while (reader.more()) {
      (void)reader.Number<uint64_t>();
      Bucket bucket{};
      bucket.least = reader.Number<uint64_t>();
      bucket.greatest = reader.Number<uint64_t>();
      bucket.bytes = reader.Number<int64_t>();
      buckets.push_back(bucket);
    }
    WF_TRY(reader.status());
    const auto slice = [&](uint64_t least, uint64_t greatest) {
      return by_hi ? Slice{{least, 0}, {greatest, UINT64_MAX}}
                   : Slice{{range.first.hi, least}, {range.first.hi, greatest}};
    };
    for (size_t i = 0; i < buckets.size();) {
      int64_t bytes = buckets[i].bytes;
      const bool one_trace = !by_hi && buckets[i].least == buckets[i].greatest;
      if (bytes > kSliceBytes && !one_trace) {
        WF_TRY(Cut(slice(buckets[i].least, buckets[i].greatest)));
        ++i;
        continue;
      }
      size_t end = i + 1;
      while (end < buckets.size() && bytes + buckets[end].bytes <= kSliceBytes)
        bytes += buckets[end++].bytes;
      slices_.push_back(slice(buckets[i].least, buckets[end - 1].greatest));
      i = end;
    }
    return {};
  }
  std::vector<Slice> Take() { return std::move(slices_); }

 private:
  clickhouse::Client& client_;
  const std::string table_, condition_;
  std::vector<Slice> slices_;
};

std::string RangeCondition(const char* column, TimeRange range) {
  std::string out;
  if (range.from != INT64_MIN) out += fmt::format(" AND {} >= {}", column, range.from);
  if (range.until != INT64_MAX) out += fmt::format(" AND {} < {}", column, range.until);
  return out;
}

// store.h: events that are no spans, and spans without start or end, come whatever their names.
std::string SelectionCondition(const EventSelection& select) {
  constexpr char kOddSpan[] = "(type = 0 AND bitAnd(marks, 3) != 3)";
  std::string out = fmt::format(" AND (type != 0 OR {}", kOddSpan);
  if (!select.names.empty()) {
    out += fmt::format(" OR name IN {} OR hasAny(point_names, {})",
                       clickhouse::QuoteList(select.names), clickhouse::QuoteArray(select.names));
  }
  out += ")";
  if (select.overlaps.from != INT64_MIN) {
    out += fmt::format(" AND (start_ns >= {0} OR ends_ns >= {0} OR {1})", select.overlaps.from,
                       kOddSpan);
  }
  if (select.overlaps.until != INT64_MAX)
    out += fmt::format(" AND (start_ns < {} OR {})", select.overlaps.until, kOddSpan);
  return out;
}

// Gathers traces into batches of about the size asked for.
class Collector {
 public:
  Collector(const std::string& tenant, size_t batch_rows, const Store::Take& take)
      : batch_rows_(batch_rows), take_(take) {
    out_.tenant = tenant;
  }
  // False when the taker wants no more.
  bool Add(EventBatch batch) {
    if (out_.empty() && batch.size() <= batch_rows_) {
      out_ = std::move(batch);
      return out_.size() < batch_rows_ || Hand();
    }
    auto copier = std::make_unique<RowCopier>(batch, out_);
    const std::vector<size_t> bounds = TraceBounds(batch);
    for (size_t t = 0; t + 1 < bounds.size(); ++t) {
      for (size_t row = bounds[t]; row < bounds[t + 1]; ++row) copier->Copy(row);
      if (out_.size() < batch_rows_) continue;
      if (!Hand()) return false;
      copier = std::make_unique<RowCopier>(batch, out_);
    }
    return true;
  }
  bool Hand() {
    if (out_.empty()) return true;
    EventBatch batch = std::move(out_);
    out_ = EventBatch();
    out_.tenant = batch.tenant;
    return take_(std::move(batch));
  }

 private:
  const size_t batch_rows_;
  const Store::Take& take_;
  EventBatch out_;
};

}  // namespace

Status ClickhouseStore::ReadSlices(const std::string& tenant, const std::string& condition,
                                   const clickhouse::EventColumns& columns,
                                   const std::function<bool(EventBatch)>& take) {
  const std::string where = "tenant = " + clickhouse::Quote(tenant) + condition;
  Slicer slicer(client_, names_.All("events"), where);
  WF_TRY(slicer.Cut({{0, 0}, {UINT64_MAX, UINT64_MAX}}));
  const std::vector<Slice> slices = slicer.Take();
  const auto read = [&](size_t i) {
    return ReadWhere(tenant, fmt::format("PREWHERE {} WHERE {}", InSlice(slices[i]), where),
                     columns, "scanning events");
  };
  std::future<Result<EventBatch>> next;
  for (size_t i = 0; i < slices.size(); ++i) {
    Result<EventBatch> batch = next.valid() ? next.get() : read(i);
    if (!batch.ok()) return batch.error();
    if (i + 1 < slices.size()) next = std::async(std::launch::async, read, i + 1);
    if (!take(std::move(*batch))) break;  // the one under way is waited for
  }
  return {};
}

Status ClickhouseStore::Scan(const std::string& tenant, const ScanOptions& options,
                             const Take& take) {
  std::string condition =
      RangeCondition("start_ns", options.time) + RangeCondition("received_ns", options.received);
  clickhouse::EventColumns columns;
  if (options.select) {
    condition += SelectionCondition(*options.select);
    columns.rest = false;
    columns.attributes = !options.select->attributes.empty();
    columns.keys = options.select->attributes;
    columns.points = !options.select->names.empty();
  }
  Collector collector(tenant, options.batch_rows, take);
  bool go_on = true;
  WF_TRY(ReadSlices(tenant, condition, columns,
                    [&](EventBatch batch) { return go_on = collector.Add(std::move(batch)); }));
  if (go_on) collector.Hand();
  return {};
}

}  // namespace wf::store::clickhouse
