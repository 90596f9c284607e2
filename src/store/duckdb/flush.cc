// From the pending buffer into a part: per tenant sort, remove doubles, lay out, write; then one commit for all, with
// the number of the applied log, and a checkpoint.
//
// Doubles of rows that are already in a segment are removed here too ("receiving never looks up, merging removes"):
// the trace filters tell which traces of the buffer an earlier segment may have, and only those are read. So stored
// rows are distinct, and counts are sums. What remains of such traces is listed as *continued*.
//
// Small segments (a quiet system, many small imports) are taken in by the next one, so that sizes grow
// geometrically and a thousand imports do not make a thousand segments.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "store/duckdb/store_impl.h"

namespace wf::store::duckdb {
namespace {

constexpr size_t kSmallSegmentRows = 61440;  // half a row group: larger ones are never rewritten
constexpr size_t kIdsPerRead = 2000;  // traces looked at together when removing stored doubles

}  // namespace

struct DuckdbStore::TenantRows {
  std::string name;
  BatchList batches;
  std::vector<RowKey> rows;
  std::unique_ptr<SegmentWriter> writer;
  std::vector<ContinuedTrace> continued;
  SegmentList taken_in;  // small segments that this one replaces
  int64_t doubles = 0;
};

Status DuckdbStore::Flush() {
  std::unique_lock lock(mutex_);
  const uint64_t asked = ++seals_asked_;
  flush_status_ = {};
  work_.notify_all();
  idle_.wait(lock, [&] {
    return stopping_ || !flush_status_.ok() || (seals_done_ >= asked && writing_ == nullptr);
  });
  return flush_status_;
}

void DuckdbStore::FlushLoop() {
  std::unique_lock lock(mutex_);
  while (true) {
    sealed_.wait_for(lock, std::chrono::seconds(1),
                     [&] { return stopping_ || writing_ != nullptr; });
    if (writing_ == nullptr) {
      if (stopping_) return;
      if (filling_->rows != 0 && MonotonicNow() - filling_->since > options_.flush_age) {
        ++seals_asked_;
        work_.notify_all();
      }
      continue;
    }
    std::shared_ptr<Pending> pending = writing_;
    lock.unlock();
    const Status status = WritePending(*pending);
    // The buffer's batches came from many threads' arenas, which keep what is freed: 50 MB less at the peak.
    if (pending.use_count() == 1) {
      pending.reset();
      malloc_trim(0);
    }
    lock.lock();
    flush_status_ = status;
    if (!status.ok()) {
      // Disk full, most likely: the rows stay readable here and safe in the log; senders are told to wait.
      Count("flush_errors", 1);
      idle_.notify_all();
      if (stopping_) return;
      sealed_.wait_for(lock, std::chrono::seconds(1), [&] { return stopping_; });
      if (stopping_) return;
      continue;
    }
    idle_.notify_all();
  }
}

Status DuckdbStore::WritePending(Pending& pending) {
  std::lock_guard flush_lock(flush_mutex_);
  // Large rows stay where they are: taking small segments in again would need as much memory as they have.
  const bool merge = pins_ == 0 && pending.bytes <= options_.max_pending_bytes / 2;
  return WritePendingLocked(pending, merge ? Merge::kSmallSegments : Merge::kNone);
}

Status DuckdbStore::WritePendingLocked(Pending& pending, Merge merge) {
  std::vector<std::unique_ptr<TenantRows>> tenants;
  std::map<std::string, TenantRows*> by_name;
  for (const auto& batch : pending.batches) {
    TenantRows*& tenant = by_name[batch->tenant];
    if (tenant == nullptr) {
      tenants.push_back(std::make_unique<TenantRows>());
      tenant = tenants.back().get();
      tenant->name = batch->tenant;
    }
    const auto index = static_cast<uint32_t>(tenant->batches.size());
    tenant->batches.push_back(batch);
    for (uint32_t row = 0; row < batch->size(); ++row)
      tenant->rows.push_back(KeyOf(*batch, index, row));
  }

  SegmentList segments;
  {
    std::lock_guard lock(mutex_);
    segments = segments_;
  }
  // Rows are moved only within a part, by one commit.
  const bool fits = PartFits();
  if (fits && merge == Merge::kSmallSegments) {
    for (auto& tenant : tenants) WF_TRY(TakeInSmallSegments(*tenant, segments));
  }
  if (!fits) WF_TRY(StartPart());
  int64_t doubles = 0;
  for (auto& tenant : tenants) {
    {
      StageCpu cpu(*this, "sort");
      doubles += static_cast<int64_t>(SortAndRemoveDoubles(tenant->batches, tenant->rows));
    }
    StageCpu cpu(*this, "doubles");
    WF_TRY(RemoveStoredDoubles(*tenant, segments));
    doubles += tenant->doubles;
  }
  tenants.erase(
      std::remove_if(tenants.begin(), tenants.end(), [](const auto& t) { return t->rows.empty(); }),
      tenants.end());
  for (auto& tenant : tenants) {
    StageCpu cpu(*this, "layout");
    tenant->writer = std::make_unique<SegmentWriter>(tenant->batches, tenant->rows, active_->homes);
  }
  const bool moves = std::any_of(tenants.begin(), tenants.end(),
                                 [](const auto& t) { return !t->taken_in.empty(); });
  std::unique_lock layout_lock(layout_mutex_, std::defer_lock);
  if (moves) {
    // Never under a reader: short reads are waited for, but not for ever, and while a scan runs nothing moves.
    if (!layout_lock.try_lock_for(std::chrono::milliseconds(200)) || pins_ != 0) {
      if (layout_lock.owns_lock()) layout_lock.unlock();
      tenants.clear();
      return WritePendingLocked(pending, Merge::kNone);
    }
  }
  SegmentList written;
  WF_TRY(WriteTenants(tenants, pending, written));

  std::lock_guard lock(mutex_);
  SegmentList next;
  for (const auto& segment : segments_) {
    const bool replaced = std::any_of(tenants.begin(), tenants.end(), [&](const auto& t) {
      return std::find(t->taken_in.begin(), t->taken_in.end(), segment) != t->taken_in.end();
    });
    if (!replaced) next.push_back(segment);
  }
  next.insert(next.end(), written.begin(), written.end());
  segments_ = std::move(next);
  if (writing_.get() == &pending) writing_.reset();
  if (doubles != 0) Count("doubles_removed", doubles);
  Count("segments_written", 1);
  for (uint64_t log : pending.logs) {
    applied_log_ = std::max(applied_log_, log);
    unlink((Folder("wal") + "/" + LogFileName(log)).c_str());
  }
  return {};
}

// The tenant's newest segments, as long as they are small against what is being written: only a tail of the list, so
// that no later segment refers to them.
Status DuckdbStore::TakeInSmallSegments(TenantRows& tenant, const SegmentList& segments) {
  size_t rows = tenant.rows.size();
  for (auto it = segments.rbegin(); it != segments.rend(); ++it) {
    const Segment& segment = **it;
    if (segment.tenant != tenant.name) continue;
    if (segment.part != active_ || segment.rows > kSmallSegmentRows ||
        segment.rows > rows * 2 + 8192 || rows + segment.rows > options_.segment_rows) {
      break;
    }
    tenant.taken_in.push_back(*it);
    rows += segment.rows;
  }
  if (tenant.taken_in.empty()) return {};
  WF_ASSIGN(auto connection, Borrow());
  for (const auto& segment : tenant.taken_in) {
    WF_ASSIGN(auto dictionary, DictionaryOf(*segment));
    RowDecoder decoder(*segment, std::move(dictionary));
    WF_ASSIGN(auto result, connection->Query(fmt::format(
                               "SELECT {} FROM {}", segment->select_list(), segment->table())));
    while (duck::Chunk chunk = result.Next())
      WF_TRY(decoder.Add(chunk, [](TraceId) { return true; }));
    auto batch = decoder.Finish();
    const auto index = static_cast<uint32_t>(tenant.batches.size());
    for (uint32_t row = 0; row < batch->size(); ++row)
      tenant.rows.push_back(KeyOf(*batch, index, row));
    tenant.batches.push_back(std::move(batch));
  }
  return {};
}

Status DuckdbStore::RemoveStoredDoubles(TenantRows& tenant, const SegmentList& all) {
  SegmentList segments;
  for (const auto& segment : all) {
    if (segment->tenant == tenant.name && std::find(tenant.taken_in.begin(), tenant.taken_in.end(),
                                                    segment) == tenant.taken_in.end()) {
      segments.push_back(segment);
    }
  }
  if (segments.empty()) return {};
  std::vector<TraceId> maybe;
  for (size_t i = 0; i < tenant.rows.size(); ++i) {
    if (i != 0 && tenant.rows[i].SameTrace(tenant.rows[i - 1])) continue;
    const TraceId id = tenant.rows[i].trace_id();
    if (std::any_of(segments.begin(), segments.end(),
                    [&](const auto& s) { return s->filter.MayHave(id); })) {
      maybe.push_back(id);
    }
  }
  const auto by_trace = [](const RowKey& row, TraceId id) { return row.trace_id() < id; };
  std::vector<bool> remove(tenant.rows.size(), false);
  for (size_t at = 0; at < maybe.size(); at += kIdsPerRead) {
    const std::vector<TraceId> ids(
        maybe.begin() + static_cast<ptrdiff_t>(at),
        maybe.begin() + static_cast<ptrdiff_t>(std::min(maybe.size(), at + kIdsPerRead)));
    // First few columns: which traces are there at all, and has one a row with the same id and start? Only such rows
    // are read whole and compared.
    std::unordered_map<TraceId, uint64_t> latest;
    std::vector<TraceId> similar;
    const auto each_like = [&](const EventBatch& batch, uint32_t row, auto&& visit) {
      const auto [first, last] =
          std::equal_range(tenant.rows.begin(), tenant.rows.end(), KeyOf(batch, 0, row), KeyBefore);
      for (auto it = first; it != last; ++it) visit(static_cast<size_t>(it - tenant.rows.begin()));
    };
    BatchList stored;
    std::vector<uint64_t> numbers;
    WF_TRY(ReadStored(tenant.name, ids, segments, stored, &numbers, [](const SegmentDictionary&) {
      uint64_t columns = 0;
      for (uint8_t c : {kColTraceHi, kColTraceLo, kColId1, kColStart, kColShape})
        columns |= uint64_t{1} << c;
      return columns;
    }));
    for (size_t i = 0; i < stored.size(); ++i) {
      for (uint32_t row = 0; row < stored[i]->size(); ++row) {
        const TraceId id = stored[i]->trace_id(row);
        latest[id] = numbers[i];
        each_like(*stored[i], row, [&](size_t) { similar.push_back(id); });
      }
    }
    std::sort(similar.begin(), similar.end());
    similar.erase(std::unique(similar.begin(), similar.end()), similar.end());
    stored.clear();
    WF_TRY(ReadStored(tenant.name, similar, segments, stored, nullptr));
    for (const auto& batch : stored) {
      for (uint32_t row = 0; row < batch->size(); ++row) {
        each_like(*batch, row, [&](size_t place) {
          const RowKey& key = tenant.rows[place];
          if (remove[place] ||
              !(ContentHash(*tenant.batches[key.batch], key.row) == ContentHash(*batch, row)))
            return;
          remove[place] = true;
          ++tenant.doubles;
        });
      }
    }
    for (const TraceId& id : ids) {
      const auto found = latest.find(id);
      if (found == latest.end()) continue;
      auto it = std::lower_bound(tenant.rows.begin(), tenant.rows.end(), id, by_trace);
      bool left = false;
      for (; it != tenant.rows.end() && it->trace_id() == id; ++it) {
        left = left || !remove[static_cast<size_t>(it - tenant.rows.begin())];
      }
      if (left) tenant.continued.push_back({id, found->second});
    }
  }
  if (tenant.doubles == 0) return {};
  size_t out = 0;
  for (size_t i = 0; i < tenant.rows.size(); ++i) {
    if (!remove[i]) tenant.rows[out++] = tenant.rows[i];
  }
  tenant.rows.resize(out);
  return {};
}

// Can the newest part take one more segment: is it neither full nor too old?
bool DuckdbStore::PartFits() {
  if (active_ == nullptr || active_segments_ >= kSegmentsPerPart) return false;
  if (part_bytes_limit_ && active_->Bytes() > *part_bytes_limit_) return false;
  if (!part_age_limit_) return true;
  Nanos oldest = INT64_MAX;
  std::lock_guard lock(mutex_);
  for (const auto& segment : segments_) {
    if (segment->part == active_) oldest = std::min(oldest, segment->min_received);
  }
  return oldest >= SaturatingSub(Now(), *part_age_limit_);
}

Status DuckdbStore::StartPart() {
  SlotHomes homes = active_ != nullptr ? active_->homes : SlotHomes{};
  WF_ASSIGN(active_, Part::Create(*database_, Folder("parts"), next_part_));
  ++next_part_;
  active_->homes = std::move(homes);
  active_segments_ = 0;
  return {};
}

Status DuckdbStore::WriteTenants(std::vector<std::unique_ptr<TenantRows>>& tenants,
                                 const Pending& pending, SegmentList& written) {
  WF_ASSIGN(auto connection, Borrow());
  const std::string& schema = active_->schema();
  if (!active_->DropIndexTail().ok()) Count("index_tail_errors", 1);
  WF_TRY(connection->Run("BEGIN"));
  const auto write = [&]() -> Status {
    for (auto& tenant : tenants) {
      for (const auto& segment : tenant->taken_in) {
        WF_TRY(
            connection->Run(fmt::format("DROP TABLE {0}.events_{1}; DROP TABLE {0}.traces_{1}; "
                                        "DELETE FROM {0}.shapes WHERE segment = {1}; "
                                        "DELETE FROM {0}.segments WHERE segment = {1}",
                                        schema, segment->id)));
      }
      auto segment = std::make_shared<Segment>();
      segment->id = next_segment_++;
      segment->tenant = tenant->name;
      segment->continued = tenant->continued;
      segment->part = active_;
      StageCpu cpu(*this, "append");
      WF_TRY(tenant->writer->Write(*connection, schema, active_->index(), *segment));
      segment->filter = std::move(tenant->writer->trace_filter());
      written.push_back(std::move(segment));
    }
    const uint64_t log =
        pending.logs.empty() ? 0 : *std::max_element(pending.logs.begin(), pending.logs.end());
    return connection->Run(fmt::format(
        "DELETE FROM {0}.progress; INSERT INTO {0}.progress VALUES ({1})", schema, log));
  };
  Status status = write();
  StageCpu cpu(*this, "checkpoint");
  if (status.ok()) status = connection->Run("COMMIT");
  if (!status.ok()) {
    (void)connection->Run("ROLLBACK");
    written.clear();
    // If this fails as well, the next write or the next opener does it.
    if (!active_->DropIndexTail().ok()) Count("index_tail_errors", 1);
    return status;
  }
  active_->KeepIndex();
  for (auto& tenant : tenants) active_segments_ = active_segments_ + 1 - tenant->taken_in.size();
  // The commit is durable in DuckDB's own log; the checkpoint moves it into the file. If it fails, the next one does it.
  if (!connection->Run("CHECKPOINT " + schema).ok()) Count("checkpoint_errors", 1);
  return {};
}

}  // namespace wf::store::duckdb
