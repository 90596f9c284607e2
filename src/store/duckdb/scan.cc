// Every distinct event, trace by trace.
//
// Segments are read a few blocks at a time. A trace that stands in several segments, or also in pending rows, is
// joined when it is first met and passed over later; which traces these are is known beforehand (Segment::continued).
// Pending traces come last. While a scan runs, small segments are not merged; flushing and retention go on.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "store/duckdb/scan_columns.h"
#include "store/duckdb/store_impl.h"
#include "store/summary.h"

namespace wf::store::duckdb {
namespace {

constexpr uint64_t kRowsPerRead = 16384;
constexpr size_t kTracesPerJoin = 512;  // their events are held in memory

// Gathers traces into batches of about the size asked for.
class Collector {
 public:
  Collector(const std::string& tenant, const ScanOptions& options, const Store::Take& take)
      : options_(options), take_(take) {
    out_.tenant = tenant;
  }
  // Rows [begin, end) of one trace; false when the taker wants no more.
  bool Add(const EventBatch& batch, RowCopier& copier, size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const Nanos start = batch.start_ns[row], received = batch.received_of(row);
      if (start < options_.time.from || start >= options_.time.until) continue;
      if (received < options_.received.from || received >= options_.received.until) continue;
      copier.Copy(row);
    }
    return true;
  }
  EventBatch& out() { return out_; }
  bool full() const { return out_.size() >= options_.batch_rows; }
  bool Hand() {
    if (out_.empty()) return true;
    EventBatch batch = std::move(out_);
    out_ = EventBatch();
    out_.tenant = batch.tenant;
    return take_(std::move(batch));
  }

 private:
  const ScanOptions& options_;
  const Store::Take& take_;
  EventBatch out_;
};

}  // namespace

Status DuckdbStore::Scan(const std::string& tenant, const ScanOptions& options, const Take& take) {
  struct Pin {
    explicit Pin(DuckdbStore& s) : store(s) {
      std::shared_lock lock(store.layout_mutex_);  // not in the middle of a merge
      ++store.pins_;
    }
    ~Pin() { --store.pins_; }
    DuckdbStore& store;
  } pin(*this);
  const Snapshot snapshot = Look(tenant);

  std::unordered_set<TraceId> several, done;
  for (const auto& segment : snapshot.segments) {
    for (const ContinuedTrace& trace : segment->continued) several.insert(trace.trace_id);
  }
  std::vector<RowKey> pending;
  for (uint32_t i = 0; i < snapshot.pending.size(); ++i) {
    const EventBatch& b = *snapshot.pending[i];
    for (uint32_t row = 0; row < b.size(); ++row) pending.push_back(KeyOf(b, i, row));
  }
  SortAndRemoveDoubles(snapshot.pending, pending);
  for (size_t i = 0; i < pending.size(); ++i) {
    if (i != 0 && pending[i].SameTrace(pending[i - 1])) continue;
    const TraceId id = pending[i].trace_id();
    if (std::any_of(snapshot.segments.begin(), snapshot.segments.end(),
                    [&](const auto& s) { return s->filter.MayHave(id); })) {
      several.insert(id);
    }
  }

  Collector collector(tenant, options, take);
  // Hands over whole traces of a batch, but for those to be joined; false when the taker has enough.
  const auto hand_over = [&](const EventBatch& batch, std::vector<TraceId>* to_join) {
    auto copier = std::make_unique<RowCopier>(batch, collector.out());
    const std::vector<size_t> bounds = TraceBounds(batch);
    for (size_t t = 0; t + 1 < bounds.size(); ++t) {
      const TraceId id = batch.trace_id(bounds[t]);
      if (to_join != nullptr && several.count(id) != 0) {
        if (done.insert(id).second) to_join->push_back(id);
        continue;
      }
      collector.Add(batch, *copier, bounds[t], bounds[t + 1]);
      if (collector.full()) {
        if (!collector.Hand()) return false;
        copier = std::make_unique<RowCopier>(batch, collector.out());
      }
    }
    return true;
  };
  const auto emit = [&](const EventBatch& batch) -> Result<bool> {
    std::vector<TraceId> to_join;
    if (!hand_over(batch, &to_join)) return false;
    // One read for many: each is a search in every segment.
    for (size_t at = 0; at < to_join.size(); at += kTracesPerJoin) {
      const std::vector<TraceId> ids(
          to_join.begin() + static_cast<ptrdiff_t>(at),
          to_join.begin() + static_cast<ptrdiff_t>(std::min(to_join.size(), at + kTracesPerJoin)));
      WF_ASSIGN(const EventBatch whole, ReadFrom(snapshot, tenant, ids));
      if (!hand_over(whole, nullptr)) return false;
    }
    return true;
  };

  for (const auto& segment : snapshot.segments) {
    if (segment->max_start < options.time.from || segment->min_start >= options.time.until)
      continue;
    if (segment->max_received < options.received.from ||
        segment->min_received >= options.received.until)
      continue;
    WF_ASSIGN(auto connection, Borrow());
    WF_ASSIGN(auto dictionary, DictionaryOf(*segment));
    const ScanColumns columns = ChooseColumns(*segment, *dictionary, options);
    if (columns.nothing) continue;
    RowDecoder decoder(*segment, std::move(dictionary), columns.columns);
    for (uint64_t row = 0; row < segment->rows; row += kRowsPerRead) {
      WF_ASSIGN(auto result, connection->Query(fmt::format(
                                 "SELECT {} FROM {} WHERE rowid >= {} AND rowid < {}{}",
                                 segment->select_list(columns.columns), segment->table(), row,
                                 row + kRowsPerRead, columns.condition)));
      while (duck::Chunk chunk = result.Next())
        WF_TRY(decoder.Add(chunk, [](TraceId) { return true; }));
      if (const auto whole = decoder.TakeWholeTraces()) {
        WF_ASSIGN(const bool go_on, emit(*whole));
        if (!go_on) return {};
      }
    }
    WF_ASSIGN(const bool go_on, emit(*decoder.Finish()));
    if (!go_on) return {};
  }

  std::map<uint32_t, RowCopier> copiers;
  for (size_t begin = 0; begin < pending.size();) {
    size_t end = begin + 1;
    while (end < pending.size() && pending[end].SameTrace(pending[begin])) ++end;
    if (done.count(pending[begin].trace_id()) == 0) {
      for (size_t i = begin; i < end; ++i) {
        const EventBatch& batch = *snapshot.pending[pending[i].batch];
        RowCopier& copier =
            copiers.try_emplace(pending[i].batch, batch, collector.out()).first->second;
        collector.Add(batch, copier, pending[i].row, pending[i].row + 1);
      }
      if (collector.full()) {
        copiers.clear();  // they wrote into the batch that is handed on
        if (!collector.Hand()) return {};
      }
    }
    begin = end;
  }
  collector.Hand();
  return {};
}

}  // namespace wf::store::duckdb
