// FakeStore: a Store for tests of answers. Rows lie in one batch a tenant, every question is a
// linear scan, nothing is durable. The semantics are those of store.h: doubles are one event,
// nothing of another tenant is seen, search is newest first with a cursor. Thread safety: none.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/clock_exchange.h"
#include "store/row_query.h"
#include "store/store.h"

namespace wf::answer {

class FakeStore : public store::Store {
 public:
  // Every call fails with this when set.
  std::optional<Error> failure;

  store::StoreTraits Traits() const override { return {.sql = false}; }

  void Append(EventBatch batch, Done done) override {
    if (failure) return done(*failure);
    Tenant& tenant = tenants_[batch.tenant];
    tenant.rows.tenant = batch.tenant;
    RowCopier copier(batch, tenant.rows);
    for (size_t row = 0; row < batch.size(); ++row) {
      const Hash128 hash = ContentHash(batch, row);
      if (tenant.seen
              .emplace(batch.trace_hi[row], batch.trace_lo[row], batch.id1[row], hash.hi, hash.lo)
              .second) {
        copier.Copy(row);
      }
    }
    done(Status());
  }

  void Listen(Listener) override {}  // answers do not listen

  Result<EventBatch> ReadTrace(const std::string& tenant, TraceId id) override {
    return ReadTraces(tenant, {id});
  }

  Result<EventBatch> ReadTraces(const std::string& tenant,
                                const std::vector<TraceId>& ids) override {
    if (failure) return *failure;
    const EventBatch& rows = Rows(tenant);
    EventBatch out;
    RowCopier copier(rows, out);
    for (const TraceId& id : ids) {
      for (const size_t row : RowsOf(rows, id)) copier.Copy(row);
    }
    return out;
  }

  Result<store::SearchPage> Search(const std::string& tenant,
                                   const store::TraceQuery& query) override {
    if (failure) return *failure;
    const EventBatch& rows = Rows(tenant);
    std::vector<store::TraceSummary> found;
    for (const TraceId& id : Ids(rows)) {
      const std::vector<size_t> trace = RowsOf(rows, id);
      const store::TraceSummary summary = Summary(rows, id, trace);
      const bool after_cursor =
          !query.cursor || summary.start_ns < query.cursor->start_ns ||
          (summary.start_ns == query.cursor->start_ns && id < query.cursor->trace_id);
      if (!after_cursor || !Within(query.time, summary.start_ns)) continue;
      if (query.min_duration_ns && summary.duration_ns < *query.min_duration_ns) continue;
      if (query.max_duration_ns && summary.duration_ns > *query.max_duration_ns) continue;
      if (std::any_of(trace.begin(), trace.end(),
                      [&](size_t row) { return Matches(rows, row, query); })) {
        found.push_back(summary);
      }
    }
    std::sort(found.begin(), found.end(),
              [](const store::TraceSummary& a, const store::TraceSummary& b) {
                return a.start_ns != b.start_ns ? a.start_ns > b.start_ns : b.trace_id < a.trace_id;
              });
    store::SearchPage page;
    if (found.size() > query.limit) {
      found.resize(query.limit);
      if (!found.empty())
        page.next = store::SearchCursor{found.back().start_ns, found.back().trace_id};
    }
    page.traces = std::move(found);
    return page;
  }

  // Keys are not columns here: no answer that uses this fake asks for resources yet.
  Result<store::ResourcePage> OnResource(const std::string&, const store::ResourceQuery&) override {
    return EnvironmentError("FakeStore: OnResource is not there");
  }

  Status Scan(const std::string& tenant, const store::ScanOptions& options,
              const Take& take) override {
    if (failure) return *failure;
    const EventBatch& rows = Rows(tenant);
    EventBatch out;
    for (const TraceId& id : Ids(rows)) {
      RowCopier copier(rows, out);
      for (const size_t row : RowsOf(rows, id)) {
        if (Within(options.time, rows.start_ns[row]) &&
            Within(options.received, rows.received_of(row))) {
          copier.Copy(row);
        }
      }
      if (out.size() >= options.batch_rows) {
        if (!take(std::exchange(out, EventBatch()))) return {};
      }
    }
    if (!out.empty()) take(std::move(out));
    return {};
  }

  Result<std::vector<std::string>> Services(const std::string& tenant) override {
    if (failure) return *failure;
    const EventBatch& rows = Rows(tenant);
    std::set<std::string> out;
    for (size_t row = 0; row < rows.size(); ++row) {
      if (const std::string_view service = Service(rows, row); !service.empty())
        out.emplace(service);
    }
    return std::vector<std::string>(out.begin(), out.end());
  }

  Result<std::vector<Operation>> Operations(const std::string& tenant,
                                            const std::string& service) override {
    if (failure) return *failure;
    const EventBatch& rows = Rows(tenant);
    std::set<Operation> out;
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows.type[row] == EventType::kSpan && Service(rows, row) == service) {
        out.insert({std::string(rows.str(rows.name[row])), rows.kind[row]});
      }
    }
    return std::vector<Operation>(out.begin(), out.end());
  }

  Result<std::vector<std::string>> AttributeKeys(const std::string& tenant, std::string_view prefix,
                                                 size_t limit) override {
    if (failure) return *failure;
    std::set<std::string> out;
    ForEachAttribute(Rows(tenant), [&](std::string_view key, const Value&) {
      if (key.substr(0, prefix.size()) == prefix) out.emplace(key);
    });
    return FirstOf(out, limit);
  }

  Result<std::vector<std::string>> AttributeValues(const std::string& tenant,
                                                   const std::string& wanted,
                                                   std::string_view prefix, size_t limit) override {
    if (failure) return *failure;
    std::set<std::string> out;
    ForEachAttribute(Rows(tenant), [&](std::string_view key, const Value& value) {
      const std::string text = ValueText(value);
      if (key == wanted && text.compare(0, prefix.size(), prefix) == 0) out.insert(text);
    });
    return FirstOf(out, limit);
  }

  Status AppendMessages(const std::string& tenant, const std::vector<Message>& messages) override {
    if (failure) return *failure;
    auto& kept = tenants_[tenant].messages;
    for (const Message& message : messages) {
      if (std::find(kept.begin(), kept.end(), message) == kept.end()) kept.push_back(message);
    }
    return {};
  }

  Result<std::vector<Message>> ReadMessages(const std::string& tenant,
                                            store::TimeRange time) override {
    if (failure) return *failure;
    std::vector<Message> out;
    for (const Message& message : tenants_[tenant].messages) {
      if (Within(time, message.time_ns)) out.push_back(message);
    }
    return out;
  }

  Status PutAttachment(const std::string& tenant, const store::Attachment& attachment) override {
    if (failure) return *failure;
    tenants_[tenant].attachments.push_back(attachment);
    return {};
  }

  Result<std::vector<store::Attachment>> ReadAttachments(const std::string& tenant,
                                                         TraceId id) override {
    if (failure) return *failure;
    std::vector<store::Attachment> out;
    for (const store::Attachment& attachment : tenants_[tenant].attachments) {
      if (attachment.trace_id == id) out.push_back(attachment);
    }
    return out;
  }

  Status WriteClocks(const std::string& tenant, const std::vector<ClockOffset>& clocks) override {
    if (failure) return *failure;
    for (const ClockOffset& clock : clocks)
      tenants_[tenant].clocks[{clock.host, clock.from_ns}] = clock;
    return {};
  }

  Result<std::vector<ClockOffset>> ReadClocks(const std::string& tenant,
                                              store::TimeRange time) override {
    if (failure) return *failure;
    std::vector<ClockOffset> out;
    for (const auto& [key, clock] : tenants_[tenant].clocks) {
      if (clock.from_ns >= time.until) continue;
      // Of those before the range, the one in force at its beginning.
      const bool succeeds =
          !out.empty() && out.back().host == clock.host && clock.from_ns <= time.from;
      if (succeeds)
        out.back() = clock;
      else
        out.push_back(clock);
    }
    return out;
  }

  Result<std::vector<ClockExchange>> ReadExchanges(const std::string& tenant,
                                                   store::TimeRange time) override {
    if (failure) return *failure;
    const EventBatch& rows = Rows(tenant);
    std::vector<uint32_t> by_trace;
    for (const TraceId& id : Ids(rows)) {
      for (const size_t row : RowsOf(rows, id)) by_trace.push_back(static_cast<uint32_t>(row));
    }
    ExchangeTable table;
    CollectExchanges(rows, by_trace, table);
    std::vector<ClockExchange> out = table.Exchanges();
    out.erase(std::remove_if(out.begin(), out.end(),
                             [&](const ClockExchange& e) { return !Within(time, e.window_ns); }),
              out.end());
    return out;
  }

  Result<store::StoreStatus> ReadStatus(const std::string& tenant) override {
    if (failure) return *failure;
    const EventBatch& rows = Rows(tenant);
    store::StoreStatus status;
    status.events = static_cast<int64_t>(rows.size());
    status.spans = std::count(rows.type.begin(), rows.type.end(), EventType::kSpan);
    status.traces = static_cast<int64_t>(Ids(rows).size());
    return status;
  }

  Status PutDocument(const std::string& tenant, const std::string& kind, const std::string& name,
                     std::string_view text) override {
    if (failure) return *failure;
    tenants_[tenant].documents[kind][name] = {name, std::string(text), 1};
    return {};
  }

  Result<std::vector<store::Document>> ReadDocuments(const std::string& tenant,
                                                     const std::string& kind) override {
    if (failure) return *failure;
    std::vector<store::Document> out;
    for (const auto& [name, document] : tenants_[tenant].documents[kind]) out.push_back(document);
    return out;
  }

  Status DeleteDocument(const std::string& tenant, const std::string& kind,
                        const std::string& name) override {
    if (failure) return *failure;
    if (tenants_[tenant].documents[kind].erase(name) == 0)
      return NotFound(kind + " " + name + ": not in this store");
    return {};
  }

  // Columns are those of the first table written: no answer that uses this fake changes them.
  Status WriteRows(const std::string& tenant, const std::string& dataset, const DatasetTable& rows,
                   const store::RowReplacement& replace) override {
    if (failure) return *failure;
    std::set<std::string> gone;
    for (const TraceId& id : replace.traces) gone.insert(ToHex(id));
    DatasetTable& kept = tenants_[tenant].datasets[dataset];
    DatasetTable next;
    for (const TableColumn& column : kept.columns.empty() ? rows.columns : kept.columns)
      next.columns.emplace_back().definition = column.definition;
    for (const DatasetTable* from : {static_cast<const DatasetTable*>(&kept), &rows}) {
      for (size_t row = 0; row < from->rows(); ++row) {
        if (from == &kept && gone.count(from->columns[0].texts[row]) != 0) continue;
        for (TableColumn& to : next.columns) {
          const TableColumn* column = store::ColumnNamed(*from, to.definition.name);
          column != nullptr ? store::CopyCell(*column, row, to) : to.AppendNull();
        }
      }
    }
    kept = std::move(next);
    return {};
  }

  Result<DatasetRows> QueryRows(const std::string& tenant, const std::string& dataset,
                                const DatasetQuery& query) override {
    if (failure) return *failure;
    const auto found = tenants_[tenant].datasets.find(dataset);
    if (found == tenants_[tenant].datasets.end())
      return NotFound("dataset " + dataset + ": no rows");
    const DatasetTable& table = found->second;
    std::vector<ColumnDefinition> columns;
    for (const TableColumn& column : table.columns) columns.push_back(column.definition);
    WF_TRY(store::CheckQuery(columns, query));
    DatasetTable matching;
    for (const ColumnDefinition& column : columns)
      matching.columns.emplace_back().definition = column;
    for (size_t row = 0; row < table.rows(); ++row) {
      if (!store::RowMatches(query.where, table, row)) continue;
      for (size_t c = 0; c < columns.size(); ++c)
        store::CopyCell(table.columns[c], row, matching.columns[c]);
    }
    if (query.grouped()) {
      store::RowAggregator aggregator(columns, query, store::Bounds::kNone);
      aggregator.Add(matching, {});
      return aggregator.Finish();
    }
    DatasetQuery ordered = query;
    ordered.order.push_back({"time_ns", SortDirection::kDescending});
    DatasetRows all{std::move(matching)};
    store::OrderAndLimit(ordered, all);
    DatasetRows out;
    out.more = all.more;
    for (const ColumnDefinition& column : store::ResultColumns(columns, query))
      out.table.columns.push_back(*store::ColumnNamed(all.table, column.name));
    return out;
  }

  Result<std::vector<store::DatasetStatus>> ReadDatasets(const std::string& tenant) override {
    if (failure) return *failure;
    std::vector<store::DatasetStatus> out;
    for (const auto& [name, table] : tenants_[tenant].datasets) {
      store::DatasetStatus& status = out.emplace_back();
      status.name = name;
      status.rows = static_cast<int64_t>(table.rows());
      for (const TableColumn& column : table.columns)
        status.columns.push_back({column.definition, 0});
    }
    return out;
  }

  Status DropDataset(const std::string& tenant, const std::string& dataset) override {
    if (failure) return *failure;
    tenants_[tenant].datasets.erase(dataset);
    return {};
  }

  Status RetainRows(const std::string&, const std::string&, const store::RowRetention&) override {
    return {};
  }

  Result<store::SqlRows> RunSql(const std::string&, const std::string&) override {
    return EnvironmentError("FakeStore: RunSql is not there");
  }

  Status Flush() override { return {}; }
  Status Retain(const store::RetentionPolicy&) override { return {}; }

 private:
  struct Tenant {
    EventBatch rows;
    std::set<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, uint64_t>> seen;
    std::vector<Message> messages;
    std::vector<store::Attachment> attachments;
    std::map<std::pair<std::string, Nanos>, ClockOffset> clocks;
    std::map<std::string, std::map<std::string, store::Document>> documents;  // by kind, then name
    std::map<std::string, DatasetTable> datasets;
  };

  const EventBatch& Rows(const std::string& tenant) { return tenants_[tenant].rows; }

  static bool Within(store::TimeRange range, Nanos time) {
    return range.from <= time && time < range.until;
  }

  static std::string_view Service(const EventBatch& rows, size_t row) {
    return rows.str(rows.processes[rows.process[row]].service);
  }

  static std::set<TraceId> Ids(const EventBatch& rows) {
    std::set<TraceId> ids;
    for (size_t row = 0; row < rows.size(); ++row) ids.insert(rows.trace_id(row));
    return ids;
  }

  static std::vector<size_t> RowsOf(const EventBatch& rows, TraceId id) {
    std::vector<size_t> out;
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows.trace_id(row) == id) out.push_back(row);
    }
    std::stable_sort(out.begin(), out.end(), [&](size_t a, size_t b) {
      return std::pair(rows.start_ns[a], rows.id1[a]) < std::pair(rows.start_ns[b], rows.id1[b]);
    });
    return out;
  }

  static Nanos Duration(const EventBatch& rows, size_t row) {
    if ((rows.marks[row] & kHasEnd) == 0) return 0;
    return std::max<Nanos>(0, SaturatingSub(rows.end_ns[row], rows.start_ns[row]));
  }

  static store::TraceSummary Summary(const EventBatch& rows, TraceId id,
                                     const std::vector<size_t>& trace) {
    store::TraceSummary summary;
    summary.trace_id = id;
    Nanos first = INT64_MAX, last = INT64_MIN;
    std::set<uint64_t> ids;
    for (const size_t row : trace) ids.insert(rows.id1[row]);
    int roots = 0;
    bool all_there = true;
    for (const size_t row : trace) {
      first = std::min(first, rows.start_ns[row]);
      last = std::max(last, SaturatingAdd(rows.start_ns[row], Duration(rows, row)));
      summary.spans += rows.type[row] == EventType::kSpan ? 1 : 0;
      summary.errors += rows.status[row] == SpanStatus::kError ? 1 : 0;
      if (rows.id2[row] == 0 && ++roots == 1) {
        summary.service = Service(rows, row);
        summary.name = rows.str(rows.name[row]);
      }
      all_there &= rows.id2[row] == 0 || ids.count(rows.id2[row]) != 0;
      all_there &= (rows.marks[row] & kHasEnd) != 0;
    }
    summary.start_ns = first;
    summary.duration_ns = SaturatingSub(last, first);
    summary.complete = roots == 1 && all_there;
    return summary;
  }

  static bool HasAttribute(const EventBatch& rows, std::string_view packed,
                           const std::string& wanted, const std::string& text) {
    AttributeReader reader(packed);
    uint32_t key;
    Value value;
    while (reader.Next(key, value)) {
      if (rows.str(key) == wanted && ValueText(value) == text) return true;
    }
    return false;
  }

  static bool Matches(const EventBatch& rows, size_t row, const store::TraceQuery& query) {
    if (query.service && Service(rows, row) != *query.service) return false;
    if (query.operation && rows.str(rows.name[row]) != *query.operation) return false;
    if (query.status && rows.status[row] != *query.status) return false;
    if (query.min_span_duration_ns && Duration(rows, row) < *query.min_span_duration_ns)
      return false;
    if (query.max_span_duration_ns && Duration(rows, row) > *query.max_span_duration_ns)
      return false;
    return std::all_of(query.attributes.begin(), query.attributes.end(), [&](const auto& wanted) {
      return HasAttribute(rows, rows.attrs(row), wanted.first, wanted.second) ||
             HasAttribute(rows, rows.process_attrs(row), wanted.first, wanted.second) ||
             HasAttribute(rows, rows.scope_attrs(row), wanted.first, wanted.second);
    });
  }

  template <typename Visit>
  static void ForEachAttribute(const EventBatch& rows, const Visit& visit) {
    for (size_t row = 0; row < rows.size(); ++row) {
      for (const std::string_view packed :
           {rows.attrs(row), rows.process_attrs(row), rows.scope_attrs(row)}) {
        AttributeReader reader(packed);
        uint32_t key;
        Value value;
        while (reader.Next(key, value)) visit(rows.str(key), value);
      }
    }
  }

  static std::vector<std::string> FirstOf(const std::set<std::string>& sorted, size_t limit) {
    std::vector<std::string> out;
    for (const std::string& text : sorted) {
      if (out.size() == limit) break;
      out.push_back(text);
    }
    return out;
  }

  std::map<std::string, Tenant> tenants_;
};

}  // namespace wf::answer
