// Reading whole traces: pending rows by a look at every batch, stored ones by the trace filters and the sort order.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "store/duckdb/store_impl.h"

namespace wf::store::duckdb {
namespace {

// Traces asked for one by one in a query; DuckDB answers each from the sort order in 0.3–0.7 ms. (A list, `trace_hi IN
// (…)`, makes it look at every row: 40 ms.) More than this are read as a range, of which unwanted traces are dropped.
constexpr size_t kIdsPerQuery = 32;
constexpr size_t kManyIds = 256;

// Ids are random, in their low half at least: 64-bit ids have no high one. How many of `traces` lie between the two.
double TracesBetween(TraceId first, TraceId last, double traces) {
  const uint64_t distance = first.hi == last.hi ? last.lo - first.lo : last.hi - first.hi;
  return static_cast<double>(distance) / 18446744073709551616.0 * traces;
}

std::string RangeSql(TraceId first, TraceId last) {
  if (first.hi == last.hi) {
    return fmt::format("trace_hi = {} AND trace_lo >= {} AND trace_lo <= {}", first.hi, first.lo,
                       last.lo);
  }
  return fmt::format("trace_hi >= {} AND trace_hi <= {}", first.hi, last.hi);
}

// Wide rows: a few traces with long texts are more than DuckDB may hold by its limit. For as long as such an answer is
// read it may hold more. The limit is the whole database's: another reader that this starves raises it again.
class MoreMemory {
 public:
  MoreMemory(duck::Connection& connection, const std::string& usual)
      : connection_(connection), usual_(usual) {}
  ~MoreMemory() {
    if (steps_ > 0) (void)connection_.Run(fmt::format("SET memory_limit = '{}'", usual_));
  }
  MoreMemory(const MoreMemory&) = delete;
  MoreMemory& operator=(const MoreMemory&) = delete;

  // Whether there was more to have.
  bool Raise(const Error& error) {
    static constexpr const char* kSteps[] = {"256MB", "1GB", "4GB"};
    if (steps_ == std::size(kSteps) || error.message.find("Out of Memory") == std::string::npos)
      return false;
    return connection_.Run(fmt::format("SET memory_limit = '{}'", kSteps[steps_++])).ok();
  }

 private:
  duck::Connection& connection_;
  const std::string& usual_;
  size_t steps_ = 0;
};

// Those of a segment's rows that belong to `ids`, which are sorted.
Result<std::shared_ptr<const EventBatch>> ReadSegment(
    duck::Connection& connection, const Segment& segment,
    const std::shared_ptr<const SegmentDictionary>& dictionary, const std::vector<TraceId>& ids,
    uint64_t columns) {
  RowDecoder decoder(segment, dictionary, columns);
  const std::string select =
      fmt::format("SELECT {} FROM {} WHERE ", segment.select_list(columns), segment.table());
  const double between =
      TracesBetween(ids.front(), ids.back(), static_cast<double>(segment.traces));
  if (ids.size() > kManyIds || static_cast<double>(ids.size()) > 0.1 * between + kIdsPerQuery) {
    const std::unordered_set<TraceId> asked(ids.begin(), ids.end());
    WF_ASSIGN(auto result, connection.Query(select + RangeSql(ids.front(), ids.back())));
    while (duck::Chunk chunk = result.Next()) {
      WF_TRY(decoder.Add(chunk, [&](TraceId id) { return asked.count(id) != 0; }));
    }
    return decoder.Finish();
  }
  for (size_t at = 0; at < ids.size(); at += kIdsPerQuery) {
    std::string sql;
    for (size_t i = at; i < std::min(ids.size(), at + kIdsPerQuery); ++i) {
      sql += fmt::format("{}{}trace_hi = {} AND trace_lo = {}", sql.empty() ? "" : " UNION ALL ",
                         select, ids[i].hi, ids[i].lo);
    }
    WF_ASSIGN(auto result, connection.Query(sql));
    while (duck::Chunk chunk = result.Next())
      WF_TRY(decoder.Add(chunk, [](TraceId) { return true; }));
  }
  return decoder.Finish();
}

}  // namespace

Status DuckdbStore::ReadStored(const std::string& tenant, const std::vector<TraceId>& ids,
                               const SegmentList& segments, BatchList& out,
                               std::vector<uint64_t>* segment_ids, const ColumnChoice& choice) {
  std::vector<TraceId> hits;
  for (const auto& segment : segments) {
    if (segment->tenant != tenant) continue;
    hits.clear();
    for (const TraceId& id : ids) {
      if (segment->filter.MayHave(id)) hits.push_back(id);
    }
    if (hits.empty()) continue;
    WF_ASSIGN(const auto dictionary, DictionaryOf(*segment));
    const uint64_t columns = choice ? choice(*dictionary) : UINT64_MAX;
    WF_ASSIGN(auto connection, Borrow());
    MoreMemory memory(*connection, options_.memory_limit);
    auto batch = ReadSegment(*connection, *segment, dictionary, hits, columns);
    while (!batch.ok() && memory.Raise(batch.error()))
      batch = ReadSegment(*connection, *segment, dictionary, hits, columns);
    if (!batch.ok()) return batch.error();
    if ((*batch)->empty()) continue;
    if (segment_ids != nullptr) segment_ids->push_back(segment->id);
    out.push_back(std::move(*batch));
  }
  return {};
}

Result<EventBatch> DuckdbStore::ReadFrom(const Snapshot& snapshot, const std::string& tenant,
                                         std::vector<TraceId> ids, const ColumnChoice& columns) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  BatchList batches = snapshot.pending;
  const size_t pending = batches.size();
  WF_TRY(ReadStored(tenant, ids, snapshot.segments, batches, nullptr, columns));

  std::vector<RowKey> rows;
  const std::unordered_set<TraceId> asked(ids.begin(), ids.end());
  for (uint32_t i = 0; i < batches.size(); ++i) {
    const EventBatch& b = *batches[i];
    for (uint32_t row = 0; row < b.size(); ++row) {
      const bool wanted = i >= pending || (ids.size() == 1 ? b.trace_lo[row] == ids[0].lo &&
                                                                 b.trace_hi[row] == ids[0].hi
                                                           : asked.count(b.trace_id(row)) != 0);
      if (wanted) rows.push_back(KeyOf(b, i, row));
    }
  }
  // Rows read without some columns are stored ones, which are distinct; compared by what was read, they might not seem so.
  if (columns) {
    SortRows(rows);
  } else {
    SortAndRemoveDoubles(batches, rows);
  }
  EventBatch out;
  out.tenant = tenant;
  if (rows.empty()) return out;
  out.received_ns = batches[rows[0].batch]->received_of(rows[0].row);
  std::map<uint32_t, RowCopier> copiers;
  for (const RowKey& row : rows)
    copiers.try_emplace(row.batch, *batches[row.batch], out).first->second.Copy(row.row);
  return out;
}

Result<EventBatch> DuckdbStore::ReadTrace(const std::string& tenant, TraceId id) {
  return ReadTraces(tenant, {id});
}

Result<EventBatch> DuckdbStore::ReadTraces(const std::string& tenant,
                                           const std::vector<TraceId>& ids) {
  std::shared_lock layout_lock(layout_mutex_);
  return ReadFrom(Look(tenant), tenant, ids);
}

}  // namespace wf::store::duckdb
