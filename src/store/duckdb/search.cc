// Search: SQL narrows to traces, C++ decides.
//
// Segments are visited by the latest start of their traces, newest first. In each, shapes and attribute filters tell
// whether and where rows may match; one query gives the traces of such rows with their start in this segment; the
// traces are then read whole, newest first, and kept if match.h says so. A trace's true start is never after its
// start in any segment, so the walk ends as soon as enough results are newer than all that is left.
//
// Where a trace continues an earlier segment, its start and duration here say nothing about the whole: such traces
// are never passed over because of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "store/duckdb/narrow.h"
#include "store/duckdb/store_impl.h"
#include "store/match.h"
#include "store/resource_rows.h"
#include "store/summary.h"

namespace wf::store::duckdb {
namespace {

// Blocks looked at together, over several segments: with more, a search that wants few traces reads in vain; with
// fewer, one that wants many waits for each group in turn.
constexpr size_t kFewBlocks = 16, kManyBlocks = 128;
constexpr size_t kFirstChunk = 32;  // traces read together; grows fourfold
constexpr size_t kMostRead = 4096;
constexpr size_t kTracesOffered = 512;  // read together for a resource: 10,000 rows are a few reads

struct Candidate {
  Nanos start;
  TraceId id;
};
bool Newer(const Candidate& a, const Candidate& b) {
  return a.start != b.start ? a.start > b.start : b.id < a.id;
}

}  // namespace

class Searcher {
 public:
  Searcher(DuckdbStore& store, const std::string& tenant, const TraceQuery& query)
      : store_(store),
        tenant_(tenant),
        query_(query),
        snapshot_(store.Look(tenant)),
        together_(std::clamp(query.limit, kFewBlocks, kManyBlocks)) {}

  Result<SearchPage> Run() {
    SearchPage page;
    if (query_.limit == 0) return page;
    WF_TRY(SearchPending());
    SegmentList order = snapshot_.segments;
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a->max_trace_start > b->max_trace_start;
    });
    for (size_t i = 0; i < order.size();) {
      if (Settled(order[i]->max_trace_start)) break;
      // Segments whose few candidate blocks can be looked at together.
      std::vector<Place> group;
      size_t blocks = 0;
      for (; i < order.size(); ++i) {
        if (Settled(order[i]->max_trace_start)) break;
        if (order[i]->max_trace_start < query_.time.from) continue;
        WF_ASSIGN(Place place, Narrow(*order[i]));
        if (place.nothing) continue;
        const size_t more = place.all_blocks ? together_ : place.blocks.size();
        if (!group.empty() && blocks + more > together_) break;
        blocks += more;
        group.push_back(std::move(place));
        if (blocks >= together_) {
          ++i;
          break;
        }
      }
      if (!group.empty()) WF_TRY(SearchGroup(group));
    }
    const size_t found = std::min(results_.size(), query_.limit);
    page.traces.assign(results_.begin(), results_.begin() + static_cast<ptrdiff_t>(found));
    if (results_.size() > query_.limit)
      page.next = {page.traces.back().start_ns, page.traces.back().trace_id};
    return page;
  }

  // The first rows that match a resource query, by start. Segments and, within each, traces are visited by the earliest
  // start that may match, and no longer than that can still be among the first.
  Result<ResourcePage> OnResource(const ResourceQuery& resource) {
    for (const auto& [key, text] : resource.keys) {
      if (key == ResourceKey::kHost) host_ = text;
    }
    ResourceRows rows(tenant_, resource);
    std::unordered_map<TraceId, Nanos> pending;
    for (const auto& batch : snapshot_.pending) {
      for (size_t row = 0; row < batch->size(); ++row) {
        if (!rows.MayTake(batch->start_ns[row]) || !RowMatches(*batch, row, resource)) continue;
        const Nanos start = batch->start_ns[row];
        const auto [it, added] = pending.try_emplace(batch->trace_id(row), start);
        it->second = std::min(it->second, start);
      }
    }
    std::vector<Candidate> found;
    for (const auto& [id, start] : pending) found.push_back({start, id});
    WF_TRY(OfferTraces(found, rows));
    // In doubles, whose 2^-53 is made up for by the slack, because start + duration may not fit in 64 bits.
    std::string time = fmt::format(
        "start_ns < {} AND (start_ns >= {} OR start_ns::DOUBLE + duration_ns::DOUBLE >= {}::DOUBLE "
        "- 4096)",
        resource.time.until, resource.time.from, resource.time.from);
    if (resource.cursor) time += fmt::format(" AND start_ns >= {}", resource.cursor->start_ns);
    SegmentList order = snapshot_.segments;
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::tie(a->min_start, a->id) < std::tie(b->min_start, b->id);
    });
    for (const auto& segment : order) {
      if (segment->min_start >= resource.time.until || segment->max_end < resource.time.from)
        continue;
      // The first row that can matter here starts no earlier than the cursor.
      if (!rows.MayTake(resource.cursor ? std::max(segment->min_start, resource.cursor->start_ns)
                                        : segment->min_start))
        continue;
      WF_ASSIGN(Place place, Narrow(*segment));
      if (place.nothing) continue;
      std::string blocks = place.all_blocks ? "" : Ranges("block", place.blocks, kFewBlocks);
      WF_ASSIGN(auto connection, store_.Borrow());
      WF_ASSIGN(auto result,
                connection->Query(fmt::format(
                    "SELECT trace_hi, trace_lo, min(start_ns) FROM {} WHERE {} AND {} AND {} "
                    "GROUP BY trace_hi, trace_lo",
                    segment->table(), blocks.empty() ? "true" : blocks, time,
                    RowCondition(place, query_))));
      found.clear();
      while (duck::Chunk chunk = result.Next()) {
        for (size_t i = 0; i < chunk.size(); ++i) {
          found.push_back({chunk.Column<int64_t>(2)[i],
                           {chunk.Column<uint64_t>(0)[i], chunk.Column<uint64_t>(1)[i]}});
        }
      }
      WF_TRY(OfferTraces(found, rows));
    }
    return rows.Finish();
  }

 private:
  // Reads the candidates whole, earliest first, as long as they may be among the first.
  Status OfferTraces(std::vector<Candidate>& found, ResourceRows& rows) {
    std::sort(found.begin(), found.end(),
              [](const Candidate& a, const Candidate& b) { return Newer(b, a); });
    for (size_t at = 0; at < found.size() && rows.MayTake(found[at].start); at += kTracesOffered) {
      std::vector<TraceId> ids;
      for (size_t i = at; i < std::min(found.size(), at + kTracesOffered); ++i)
        ids.push_back(found[i].id);
      std::sort(ids.begin(), ids.end());
      WF_ASSIGN(const EventBatch events, store_.ReadFrom(snapshot_, tenant_, std::move(ids)));
      rows.Offer(events);
    }
    return {};
  }

  // Runs work(half, begin, end) for the two halves of [0, n), the second on a thread of its own: one search then uses
  // two cores, which halves the wait of the only person asking and costs 30 µs.
  template <typename Work>
  static Status InTwoHalves(size_t n, const Work& work) {
    constexpr size_t kWorthAThread = 6;
    if (n < kWorthAThread) return n == 0 ? Status() : work(0, 0, n);
    std::future<Status> second = std::async(std::launch::async, [&] { return work(1, n / 2, n); });
    const Status first = work(0, 0, n / 2);
    const Status other = second.get();
    return first.ok() ? other : first;
  }

  // Can nothing that starts at or before `start` enter the results any more?
  bool Settled(Nanos start) const {
    return results_.size() > query_.limit && results_.back().start_ns > start;
  }
  // A trace's true place is never before the one it has here, so ties need not be read either.
  bool Settled(const Candidate& c) const {
    return results_.size() > query_.limit &&
           ComesBefore({results_.back().start_ns, results_.back().trace_id}, {c.start, c.id});
  }

  void CollectContinued() {
    if (std::exchange(continued_known_, true)) return;
    std::unordered_set<uint64_t> alive;
    for (const auto& segment : snapshot_.segments) alive.insert(segment->id);
    for (const auto& segment : snapshot_.segments) {
      for (const ContinuedTrace& trace : segment->continued) {
        if (alive.count(trace.earlier_segment) != 0) continued_.insert(trace.trace_id);
      }
    }
  }

  // By what is known of the trace in one segment: can it still match?
  bool MayMatch(Nanos start, Nanos duration, TraceId id) const {
    if (start < query_.time.from) return false;
    if (query_.max_duration_ns && duration > *query_.max_duration_ns) return false;
    if (continued_.count(id) != 0 || pending_.count(id) != 0) return true;
    if (start >= query_.time.until) return false;
    if (query_.cursor && !ComesBefore(*query_.cursor, {start, id})) return false;
    return !query_.min_duration_ns || duration >= *query_.min_duration_ns;
  }

  Status SearchPending() {
    // Every pending trace: its earliest start, and whether one of its rows matches.
    struct Seen {
      Nanos start;
      bool matches;
    };
    std::unordered_map<TraceId, Seen> seen;
    const bool conditions = HasRowConditions(query_);
    for (const auto& batch : snapshot_.pending) {
      const bool may = !conditions || BatchMayMatch(*batch, query_);
      for (size_t row = 0; row < batch->size(); ++row) {
        const bool matches = may && (!conditions || RowMatches(*batch, row, query_));
        const auto [it, added] =
            seen.try_emplace(batch->trace_id(row), Seen{batch->start_ns[row], matches});
        it->second.start = std::min(it->second.start, batch->start_ns[row]);
        it->second.matches = it->second.matches || matches;
      }
    }
    std::vector<Candidate> candidates;
    for (const auto& [id, trace] : seen) {
      pending_.insert(id);
      if (!trace.matches || trace.start < query_.time.from) continue;
      const bool passed_over = trace.start >= query_.time.until ||
                               (query_.cursor && !ComesBefore(*query_.cursor, {trace.start, id}));
      // Stored rows may begin earlier.
      if (passed_over && std::none_of(snapshot_.segments.begin(), snapshot_.segments.end(),
                                      [id = id](const auto& s) { return s->filter.MayHave(id); })) {
        continue;
      }
      candidates.push_back({trace.start, id});
    }
    return Decide(std::move(candidates));
  }

  Result<Place> Narrow(const Segment& segment) {
    Place place;
    place.segment = &segment;
    if (!HasRowConditions(query_) && !host_) return place;
    WF_ASSIGN(const auto dictionary, store_.DictionaryOf(segment));
    return NarrowSegment(segment, *dictionary, query_, host_);
  }

  Status SearchGroup(const std::vector<Place>& group) {
    if (group.size() == 1 && (group[0].all_blocks || group[0].blocks.size() > together_)) {
      WF_ASSIGN(auto connection, store_.Borrow());
      return SearchSegment(*connection, group[0]);
    }
    // Few blocks: all their traces are read, whatever their start. One equality per block: DuckDB finds it in the runs
    // of `block` and decodes nothing else (0.25 ms; a list or a range of blocks costs 2–30 ms).
    std::vector<std::string> selects;
    for (const Place& place : group) {
      for (uint32_t block : place.blocks) {
        selects.push_back(fmt::format(
            "SELECT trace_hi, trace_lo, start_ns FROM {} WHERE block = {} AND {}",
            place.segment->table(), block, place.condition.empty() ? "true" : place.condition));
      }
    }
    std::array<std::vector<Candidate>, 2> rows;
    WF_TRY(InTwoHalves(selects.size(), [&](size_t half, size_t begin, size_t end) -> Status {
      std::string sql;
      for (size_t i = begin; i < end; ++i) sql += (i == begin ? "" : " UNION ALL ") + selects[i];
      WF_ASSIGN(auto own_connection, store_.Borrow());
      WF_ASSIGN(auto result, own_connection->Query(sql));
      while (duck::Chunk chunk = result.Next()) {
        for (size_t i = 0; i < chunk.size(); ++i) {
          rows[half].push_back({chunk.Column<int64_t>(2)[i],
                                {chunk.Column<uint64_t>(0)[i], chunk.Column<uint64_t>(1)[i]}});
        }
      }
      return {};
    }));
    std::map<TraceId, Nanos> starts;  // of the rows found: never before the trace's own
    for (const auto& half : rows) {
      for (const Candidate& row : half) {
        const auto [it, added] = starts.try_emplace(row.id, row.start);
        it->second = std::min(it->second, row.start);
      }
    }
    std::vector<Candidate> candidates;
    for (const auto& [id, start] : starts) {
      if (start >= query_.time.from) candidates.push_back({start, id});
    }
    return Decide(std::move(candidates));
  }

  // Many blocks of one segment: its matching traces with their start here.
  Status SearchSegment(duck::Connection& connection, const Place& place) {
    const Segment& segment = *place.segment;
    const std::string& schema = segment.part->schema();
    std::string sql =
        fmt::format("SELECT t.trace_hi, t.trace_lo, t.start_ns, t.duration_ns FROM {}.traces_{} t",
                    schema, segment.id);
    if (HasRowConditions(query_)) {
      sql += fmt::format(
          " SEMI JOIN (SELECT trace_hi, trace_lo FROM {} WHERE {}) e "
          "ON t.trace_hi = e.trace_hi AND t.trace_lo = e.trace_lo",
          segment.table(), RowCondition(place, query_));
    } else if (query_.cursor) {
      // Without conditions on rows, a continued trace is found by its earliest segment.
      sql += fmt::format(" WHERE t.start_ns <= {}", query_.cursor->start_ns);
    }
    CollectContinued();
    WF_ASSIGN(auto result, connection.Query(sql));
    std::vector<Candidate> candidates;
    while (duck::Chunk chunk = result.Next()) {
      const auto* hi = chunk.Column<uint64_t>(0);
      const auto* lo = chunk.Column<uint64_t>(1);
      const auto* start = chunk.Column<int64_t>(2);
      const auto* duration = chunk.Column<int64_t>(3);
      for (size_t i = 0; i < chunk.size(); ++i) {
        if (MayMatch(start[i], duration[i], {hi[i], lo[i]}))
          candidates.push_back({start[i], {hi[i], lo[i]}});
      }
    }
    return Decide(std::move(candidates));
  }

  Status Decide(std::vector<Candidate> candidates) {
    std::sort(candidates.begin(), candidates.end(), Newer);
    size_t chunk = std::max(kFirstChunk, std::min<size_t>(query_.limit, kMostRead - 1) + 1);
    for (size_t at = 0; at < candidates.size();
         at += chunk, chunk = std::min(chunk * 4, kMostRead)) {
      if (Settled(candidates[at])) return {};
      std::vector<TraceId> ids;
      const size_t end = std::min(candidates.size(), at + chunk);
      for (size_t i = at; i < end && !Settled(candidates[i]); ++i) {
        if (decided_.insert(candidates[i].id).second) ids.push_back(candidates[i].id);
      }
      if (ids.empty()) continue;
      // Traces with pending rows are read with all columns, which telling doubles apart needs; stored rows are distinct.
      const bool lean =
          snapshot_.pending.empty() ||
          std::none_of(ids.begin(), ids.end(), [&](TraceId id) { return pending_.count(id) != 0; });
      std::sort(ids.begin(), ids.end());
      std::array<EventBatch, 2> read;
      WF_TRY(InTwoHalves(ids.size(), [&](size_t half, size_t first, size_t last) -> Status {
        WF_ASSIGN(read[half], store_.ReadFrom(snapshot_, tenant_,
                                              {ids.begin() + static_cast<ptrdiff_t>(first),
                                               ids.begin() + static_cast<ptrdiff_t>(last)},
                                              lean ? LeanColumns() : DuckdbStore::ColumnChoice()));
        return {};
      }));
      for (const EventBatch& events : read) {
        const std::vector<size_t> bounds = TraceBounds(events);
        for (size_t t = 0; t + 1 < bounds.size(); ++t) Consider(events, bounds[t], bounds[t + 1]);
      }
    }
    return {};
  }

  // What a summary and the query's attributes need: a third of the columns, and of the time.
  DuckdbStore::ColumnChoice LeanColumns() const {
    return [this](const SegmentDictionary& dictionary) {
      uint64_t columns = 0;
      for (uint8_t c : {kColTraceHi, kColTraceLo, kColId1, kColParent, kColStart, kColDuration,
                        kColShape, kColId2}) {
        columns |= uint64_t{1} << c;
      }
      for (const auto& attribute : query_.attributes) {
        const uint32_t code = dictionary.base.strings.Find(attribute.first);
        if (code == UINT32_MAX) continue;
        if (!dictionary.loose_keys.empty()) columns |= uint64_t{1} << kColMore;
        for (const Layout& layout : dictionary.layouts) {
          for (const LayoutEntry& entry : layout) {
            if (entry.key == code)
              columns |= uint64_t{1}
                         << (entry.column == kNoColumn ? uint8_t{kColMore} : entry.column);
          }
        }
      }
      return columns;
    };
  }

  void Consider(const EventBatch& events, size_t begin, size_t end) {
    bool matches = !HasRowConditions(query_);
    for (size_t row = begin; row < end && !matches; ++row)
      matches = RowMatches(events, row, query_);
    if (!matches) return;
    TraceSummary summary = Summarize(events, begin, end);
    if (!TraceMatches(summary, query_)) return;
    const auto newer = [](const TraceSummary& a, const TraceSummary& b) {
      return ComesBefore({a.start_ns, a.trace_id}, {b.start_ns, b.trace_id});
    };
    results_.insert(std::upper_bound(results_.begin(), results_.end(), summary, newer), summary);
    if (results_.size() > query_.limit + 1) results_.pop_back();
  }

  DuckdbStore& store_;
  const std::string& tenant_;
  const TraceQuery& query_;
  const DuckdbStore::Snapshot snapshot_;
  const size_t together_;            // blocks
  std::optional<std::string> host_;  // asked for by OnResource
  bool continued_known_ = false;
  std::unordered_set<TraceId> continued_;  // traces with rows in more than one segment
  std::unordered_set<TraceId> pending_;    // traces with pending rows
  std::unordered_set<TraceId> decided_;
  std::vector<TraceSummary> results_;  // the best limit + 1, newest first
};

Result<ResourcePage> DuckdbStore::OnResource(const std::string& tenant,
                                             const ResourceQuery& query) {
  std::shared_lock layout_lock(layout_mutex_);
  // Keys that are attributes narrow like a search's; wherefore.resource may be a list, which filters do not know.
  TraceQuery narrow;
  for (const auto& [key, text] : query.keys) {
    if (key != ResourceKey::kHost && key != ResourceKey::kResource) {
      narrow.attributes.emplace_back(ResourceKeyName(key), text);
    }
  }
  return Searcher(*this, tenant, narrow).OnResource(query);
}

Result<SearchPage> DuckdbStore::Search(const std::string& tenant, const TraceQuery& query) {
  std::shared_lock layout_lock(layout_mutex_);
  return Searcher(*this, tenant, query).Run();
}

}  // namespace wf::store::duckdb
