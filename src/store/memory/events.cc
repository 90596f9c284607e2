// Events: appending, reading traces, search, resources, scans, completion, clock exchanges.
#include <algorithm>
#include <numeric>

#include "model/clock_exchange.h"
#include "store/match.h"
#include "store/memory/content.h"
#include "store/resource_rows.h"
#include "store/summary.h"

namespace wf::store::memory {
namespace {

// Rows of a snapshot, copied in order into one batch.
class RowsOut {
 public:
  RowsOut(const std::string& tenant, const BatchList& batches) : batches_(batches) {
    out_.tenant = tenant;
  }
  void Copy(const RowKey& key) {
    copiers_.try_emplace(key.batch, *batches_[key.batch], out_).first->second.Copy(key.row);
  }
  size_t size() const { return out_.size(); }
  EventBatch Take() {
    copiers_.clear();  // they write into the batch that is handed on
    EventBatch taken = std::move(out_);
    out_ = EventBatch();
    out_.tenant = taken.tenant;
    return taken;
  }

 private:
  const BatchList& batches_;
  EventBatch out_;
  std::map<uint32_t, RowCopier> copiers_;
};

// One tenant's events as they are now, for use without the lock. Rows of each trace in (start, id) order.
struct Snapshot {
  BatchList batches;
  std::map<TraceId, std::vector<RowKey>> traces;

  EventBatch Trace(const std::string& tenant, const std::vector<RowKey>& rows) const {
    RowsOut out(tenant, batches);
    for (const RowKey& row : rows) out.Copy(row);
    return out.Take();
  }
};

Snapshot Look(Content& content, const std::string& tenant) {
  Snapshot out;
  {
    const std::lock_guard lock(content.mutex);
    const Tenant* found = content.Find(tenant);
    if (found == nullptr) return out;
    out.batches = found->events.batches;
    out.traces = found->events.traces;
  }
  for (auto& [id, rows] : out.traces) SortAndRemoveDoubles(out.batches, rows);
  return out;
}

BatchList Batches(Content& content, const std::string& tenant) {
  const std::lock_guard lock(content.mutex);
  const Tenant* found = content.Find(tenant);
  return found == nullptr ? BatchList() : found->events.batches;
}

bool Within(TimeRange range, Nanos time) { return range.from <= time && time < range.until; }

// Attributes of processes, scopes and rows.
template <typename Visit>
void ForEachAttribute(const EventBatch& batch, const Visit& visit) {
  const auto each = [&](std::string_view packed) {
    AttributeReader reader(packed);
    uint32_t key;
    Value value;
    while (reader.Next(key, value)) visit(key, value);
  };
  for (const Process& p : batch.processes) each(batch.Slice(p.attrs_begin, p.attrs_end));
  for (const Scope& s : batch.scopes) each(batch.Slice(s.attrs_begin, s.attrs_end));
  for (size_t row = 0; row < batch.size(); ++row) each(batch.attrs(row));
}

std::vector<std::string> FirstOf(const std::set<std::string>& sorted, size_t limit) {
  std::vector<std::string> out(sorted.begin(), sorted.end());
  if (out.size() > limit) out.resize(limit);
  return out;
}

}  // namespace

void Events::Add(const std::shared_ptr<const EventBatch>& batch) {
  std::vector<uint32_t> fresh;
  for (uint32_t row = 0; row < batch->size(); ++row) {
    const Hash128 hash = ContentHash(*batch, row);
    if (seen.emplace(batch->trace_hi[row], batch->trace_lo[row], batch->id1[row], hash.hi, hash.lo)
            .second)
      fresh.push_back(row);
  }
  if (fresh.empty()) return;
  std::shared_ptr<const EventBatch> kept = batch;
  if (fresh.size() < batch->size()) {
    auto copy = std::make_shared<EventBatch>();
    copy->tenant = batch->tenant;
    RowCopier copier(*batch, *copy);
    for (const uint32_t row : fresh) copier.Copy(row);
    kept = std::move(copy);
  }
  const auto place = static_cast<uint32_t>(batches.size());
  for (uint32_t row = 0; row < kept->size(); ++row)
    traces[kept->trace_id(row)].push_back(KeyOf(*kept, place, row));
  batches.push_back(std::move(kept));
}

void MemoryStore::Append(EventBatch batch, Done done) {
  if (batch.empty()) return done({});
  if (batch.received_ns == 0) batch.received_ns = Now();
  const auto durable = std::make_shared<const EventBatch>(std::move(batch));
  {
    const std::lock_guard lock(content_->mutex);
    content_->tenants[durable->tenant].events.Add(durable);
  }
  Announce({durable});
  done({});
}

Result<EventBatch> MemoryStore::ReadTrace(const std::string& tenant, TraceId id) {
  return ReadTraces(tenant, {id});
}

Result<EventBatch> MemoryStore::ReadTraces(const std::string& tenant,
                                           const std::vector<TraceId>& ids) {
  BatchList batches;
  std::vector<RowKey> rows;
  {
    const std::lock_guard lock(content_->mutex);
    if (const Tenant* found = content_->Find(tenant)) {
      batches = found->events.batches;
      for (const TraceId& id : std::set<TraceId>(ids.begin(), ids.end())) {
        const auto trace = found->events.traces.find(id);
        if (trace == found->events.traces.end()) continue;
        rows.insert(rows.end(), trace->second.begin(), trace->second.end());
      }
    }
  }
  SortAndRemoveDoubles(batches, rows);
  RowsOut out(tenant, batches);
  for (const RowKey& row : rows) out.Copy(row);
  return out.Take();
}

// Newest first, so that it can stop when the page is full: a trace's first row has its start.
Result<SearchPage> MemoryStore::Search(const std::string& tenant, const TraceQuery& query) {
  SearchPage page;
  if (query.limit == 0) return page;
  const Snapshot snapshot = Look(*content_, tenant);
  std::vector<SearchCursor> candidates;
  for (const auto& [id, rows] : snapshot.traces) {
    const SearchCursor place{rows.front().start_ns, id};
    if (Within(query.time, place.start_ns) && (!query.cursor || ComesBefore(*query.cursor, place)))
      candidates.push_back(place);
  }
  std::sort(candidates.begin(), candidates.end(), ComesBefore);
  for (const SearchCursor& place : candidates) {
    const std::vector<RowKey>& rows = snapshot.traces.at(place.trace_id);
    if (std::none_of(rows.begin(), rows.end(), [&](const RowKey& row) {
          return RowMatches(*snapshot.batches[row.batch], row.row, query);
        }))
      continue;
    const EventBatch trace = snapshot.Trace(tenant, rows);
    const TraceSummary summary = Summarize(trace, 0, trace.size());
    if (!TraceMatches(summary, query)) continue;
    if (page.traces.size() == query.limit) {
      page.next = SearchCursor{page.traces.back().start_ns, page.traces.back().trace_id};
      break;
    }
    page.traces.push_back(summary);
  }
  return page;
}

Result<ResourcePage> MemoryStore::OnResource(const std::string& tenant,
                                             const ResourceQuery& query) {
  ResourceRows rows(tenant, query);
  for (const auto& batch : Batches(*content_, tenant)) rows.Offer(*batch);
  return rows.Finish();
}

// A selection narrows nothing here: whole rows lie at hand.
Status MemoryStore::Scan(const std::string& tenant, const ScanOptions& options, const Take& take) {
  const Snapshot snapshot = Look(*content_, tenant);
  RowsOut out(tenant, snapshot.batches);
  for (const auto& [id, rows] : snapshot.traces) {
    for (const RowKey& row : rows) {
      if (Within(options.time, row.start_ns) &&
          Within(options.received, snapshot.batches[row.batch]->received_of(row.row)))
        out.Copy(row);
    }
    if (out.size() == 0 || out.size() < options.batch_rows) continue;
    if (!take(out.Take())) return {};
  }
  if (out.size() != 0) take(out.Take());
  return {};
}

Result<std::vector<std::string>> MemoryStore::Services(const std::string& tenant) {
  std::set<std::string> out;
  for (const auto& batch : Batches(*content_, tenant)) {
    for (const Process& process : batch->processes) out.emplace(batch->str(process.service));
  }
  out.erase("");
  return std::vector<std::string>(out.begin(), out.end());
}

Result<std::vector<Store::Operation>> MemoryStore::Operations(const std::string& tenant,
                                                              const std::string& service) {
  std::set<Operation> out;
  for (const auto& batch : Batches(*content_, tenant)) {
    for (size_t row = 0; row < batch->size(); ++row) {
      if (batch->type[row] == EventType::kSpan &&
          batch->str(batch->processes[batch->process[row]].service) == service)
        out.insert({std::string(batch->str(batch->name[row])), batch->kind[row]});
    }
  }
  return std::vector<Operation>(out.begin(), out.end());
}

Result<std::vector<std::string>> MemoryStore::AttributeKeys(const std::string& tenant,
                                                            std::string_view prefix, size_t limit) {
  std::set<std::string> out;
  for (const auto& batch : Batches(*content_, tenant)) {
    ForEachAttribute(*batch, [&](uint32_t key, const Value&) {
      const std::string_view name = batch->str(key);
      if (name.substr(0, prefix.size()) == prefix) out.emplace(name);
    });
  }
  return FirstOf(out, limit);
}

Result<std::vector<std::string>> MemoryStore::AttributeValues(const std::string& tenant,
                                                              const std::string& key,
                                                              std::string_view prefix,
                                                              size_t limit) {
  std::set<std::string> out;
  for (const auto& batch : Batches(*content_, tenant)) {
    const uint32_t wanted = batch->strings.Find(key);
    if (wanted == UINT32_MAX) continue;
    ForEachAttribute(*batch, [&](uint32_t code, const Value& value) {
      if (code != wanted) return;
      std::string text = ValueText(value);
      if (text.compare(0, prefix.size(), prefix) == 0) out.insert(std::move(text));
    });
  }
  return FirstOf(out, limit);
}

Result<std::vector<ClockExchange>> MemoryStore::ReadExchanges(const std::string& tenant,
                                                              TimeRange time) {
  const Snapshot snapshot = Look(*content_, tenant);
  ExchangeTable table;
  for (const auto& [id, rows] : snapshot.traces) {
    const EventBatch trace = snapshot.Trace(tenant, rows);
    std::vector<uint32_t> places(trace.size());
    std::iota(places.begin(), places.end(), 0u);
    CollectExchanges(trace, places, table);
  }
  std::vector<ClockExchange> out;
  for (ClockExchange& e : table.Exchanges()) {
    if (SaturatingAdd(e.window_ns, kClockWindow) > time.from && e.window_ns < time.until)
      out.push_back(std::move(e));
  }
  std::sort(out.begin(), out.end(), [](const ClockExchange& a, const ClockExchange& b) {
    return std::tie(a.from_host, a.to_host, a.window_ns) <
           std::tie(b.from_host, b.to_host, b.window_ns);
  });
  return out;
}

}  // namespace wf::store::memory
