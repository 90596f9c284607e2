// Reading whole traces: pending rows by a look at every batch, stored ones by the trace filters and the sort order.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "store/duckdb/store_impl.h"

namespace wf {
namespace {

constexpr size_t kIdsPerQuery = 1000;

// `stored`: traces in the segments asked. When most of those between the first and the last id are wanted, the range
// alone is cheaper than a list.
std::string TraceCondition(const TraceId* ids, size_t count, double stored) {
  if (count == 1) return fmt::format("trace_hi = {} AND trace_lo = {}", ids->hi, ids->lo);
  const double share = static_cast<double>(ids[count - 1].hi - ids[0].hi) / 18446744073709551616.0;
  if (static_cast<double>(count) > 0.1 * stored * share) {
    return fmt::format("trace_hi >= {} AND trace_hi <= {}", ids[0].hi, ids[count - 1].hi);
  }
  std::string list;
  for (size_t i = 0; i < count; ++i) list += fmt::format("{}{}", i == 0 ? "" : ",", ids[i].hi);
  // Sorted ids: the range lets DuckDB pass over row groups. Equal high halves are told apart when decoding.
  return fmt::format("trace_hi >= {} AND trace_hi <= {} AND trace_hi IN ({})", ids[0].hi, ids[count - 1].hi, list);
}

}  // namespace

Status DuckdbStore::ReadStored(const std::string& tenant, const std::vector<TraceId>& ids, const SegmentList& segments,
                               BatchList& out, std::vector<uint64_t>* segment_ids) {
  // By part: the segments that may have any of the ids, and those ids.
  std::map<uint64_t, std::vector<const Segment*>> by_part;
  for (const auto& segment : segments) {
    if (segment->tenant == tenant) by_part[segment->part->number()].push_back(segment.get());
  }
  const DictionarySource dictionaries = Dictionaries();
  for (auto& [number, candidates] : by_part) {
    std::vector<TraceId> hits;
    std::vector<bool> used(candidates.size(), false);
    for (const TraceId& id : ids) {
      bool hit = false;
      for (size_t i = 0; i < candidates.size(); ++i) {
        if (!candidates[i]->filter.MayHave(id)) continue;
        hit = used[i] = true;
      }
      if (hit) hits.push_back(id);
    }
    if (hits.empty()) continue;
    std::vector<const Segment*> wanted;
    double stored = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!used[i]) continue;
      wanted.push_back(candidates[i]);
      stored += static_cast<double>(candidates[i]->traces);
    }
    const Part& part = *wanted.front()->part;
    const std::unordered_set<TraceId> asked(hits.begin(), hits.end());
    WF_ASSIGN(auto connection, Borrow());
    RowDecoder decoder(part, wanted, dictionaries);
    for (size_t at = 0; at < hits.size(); at += kIdsPerQuery) {
      const size_t count = std::min(kIdsPerQuery, hits.size() - at);
      WF_ASSIGN(auto result,
                connection->Query(fmt::format("SELECT {} FROM {}.events WHERE {} AND block >= {} AND block <= {}",
                                              part.select_list(), part.schema(), TraceCondition(hits.data() + at, count, stored),
                                              wanted.front()->first_block, wanted.back()->last_block)));
      while (duck::Chunk chunk = result.Next()) {
        WF_TRY(decoder.Add(chunk, [&](TraceId id) { return asked.count(id) != 0; }));
      }
    }
    for (auto& batch : decoder.Finish(segment_ids)) out.push_back(std::move(batch));
  }
  return {};
}

Result<EventBatch> DuckdbStore::ReadFrom(const Snapshot& snapshot, const std::string& tenant, std::vector<TraceId> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  BatchList batches = snapshot.pending;
  const size_t pending = batches.size();
  WF_TRY(ReadStored(tenant, ids, snapshot.segments, batches, nullptr));

  std::vector<RowKey> rows;
  const std::unordered_set<TraceId> asked(ids.begin(), ids.end());
  for (uint32_t i = 0; i < batches.size(); ++i) {
    const EventBatch& b = *batches[i];
    for (uint32_t row = 0; row < b.size(); ++row) {
      const bool wanted = i >= pending || (ids.size() == 1 ? b.trace_lo[row] == ids[0].lo && b.trace_hi[row] == ids[0].hi
                                                           : asked.count(b.trace_id(row)) != 0);
      if (wanted) rows.push_back(KeyOf(b, i, row));
    }
  }
  SortAndRemoveDoubles(batches, rows);
  EventBatch out;
  out.tenant = tenant;
  if (rows.empty()) return out;
  out.received_ns = batches[rows[0].batch]->received_of(rows[0].row);
  std::map<uint32_t, RowCopier> copiers;
  for (const RowKey& row : rows) copiers.try_emplace(row.batch, *batches[row.batch], out).first->second.Copy(row.row);
  return out;
}

Result<EventBatch> DuckdbStore::ReadTrace(const std::string& tenant, TraceId id) { return ReadTraces(tenant, {id}); }

Result<EventBatch> DuckdbStore::ReadTraces(const std::string& tenant, const std::vector<TraceId>& ids) {
  std::shared_lock layout_lock(layout_mutex_);
  return ReadFrom(Look(tenant), tenant, ids);
}

}  // namespace wf
