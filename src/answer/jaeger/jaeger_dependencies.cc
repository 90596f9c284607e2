#include "answer/jaeger/jaeger_dependencies.h"

#include <map>
#include <optional>
#include <unordered_map>

#include "answer/jaeger/jaeger_spans.h"
#include "answer/jaeger/jaeger_trace_json.h"
#include "pipeline/dataset_catalog.h"

namespace wf::answer {
namespace {

// Pairs of services that one answer has. A graph of so many edges is nothing to look at.
constexpr size_t kMaxPairs = 100'000;

// Nothing when the dataset has no rows in the window, or was redefined without the columns that tell.
Result<std::optional<Dependencies>> CountCalls(store::DatasetStore& store,
                                               const std::string& tenant, store::TimeRange time) {
  DatasetQuery query;
  query.where = {{"time_ns", CompareOp::kGe, false, {time.from}},
                 {"time_ns", CompareOp::kLt, false, {time.until}}};
  query.group_by = {"caller", "service"};
  query.aggregates = {{AggregateKind::kCount, "", 0, "calls"}};
  query.order = {{"caller"}, {"service"}};
  query.limit = kMaxPairs;
  query.counting = DatasetQuery::Counting::kDoNotCount;
  const auto rows = store.QueryRows(tenant, pipeline::kCallsDataset, query);
  if (!rows.ok()) {
    const ErrorCode code = rows.error().code;
    if (code == ErrorCode::kNotFound || code == ErrorCode::kBadInput)
      return std::optional<Dependencies>();
    return rows.error();
  }
  const DatasetTable& table = rows->table;
  if (table.rows() == 0) return std::optional<Dependencies>();
  Dependencies out;
  out.looked_at = table.rows();
  out.limit = kMaxPairs;
  const TableColumn &caller = table.columns[0], &service = table.columns[1],
                    &calls = table.columns[2];
  for (size_t row = 0; row < table.rows(); ++row) {
    if (caller.valid[row] == 0 || service.valid[row] == 0) continue;  // nobody called: a root
    if (caller.texts[row] == service.texts[row]) continue;
    out.links.push_back(
        {caller.texts[row], service.texts[row], static_cast<uint64_t>(calls.numbers[row])});
  }
  return std::optional<Dependencies>(std::move(out));
}

using Counts = std::map<std::pair<std::string, std::string>, uint64_t>;

std::string_view ServiceOf(const EventBatch& batch, size_t row) {
  return batch.str(batch.processes[batch.process[row]].service);
}

void CountTrace(const EventBatch& batch, const TraceRows& trace, Counts& counts) {
  // Zipkin's client and server may share one id: then the client is the server's parent, and the
  // server is the parent of whatever names the id as its own.
  std::unordered_map<uint64_t, size_t> client, owner;
  for (const size_t row : trace.rows) {
    if (batch.kind[row] == SpanKind::kClient) client.emplace(batch.id1[row], row);
    const auto [at, is_new] = owner.emplace(batch.id1[row], row);
    if (!is_new && batch.kind[row] == SpanKind::kServer) at->second = row;
  }
  for (const size_t row : trace.rows) {
    const size_t* parent = nullptr;
    if (batch.kind[row] == SpanKind::kServer) {
      const auto at = client.find(batch.id1[row]);
      if (at != client.end()) parent = &at->second;
    }
    if (parent == nullptr && batch.id2[row] != 0) {
      const auto at = owner.find(batch.id2[row]);
      if (at != owner.end()) parent = &at->second;
    }
    if (parent == nullptr) continue;
    const std::string_view from = ServiceOf(batch, *parent), to = ServiceOf(batch, row);
    if (from != to) ++counts[{std::string(from), std::string(to)}];
  }
}

Result<Dependencies> CountSpans(store::EventStore& store, const std::string& tenant,
                                store::TimeRange time, uint64_t max_spans) {
  Counts counts;
  Dependencies out;
  out.limit = max_spans;
  store::ScanOptions options;
  options.time = time;
  const Status status = store.Scan(tenant, options, [&](EventBatch batch) {
    batch = BlocksAsSpans(std::move(batch));
    for (const TraceRows& trace : SpansByTrace(batch)) {
      CountTrace(batch, trace, counts);
      out.looked_at += trace.rows.size();
    }
    return out.looked_at < max_spans;
  });
  if (!status.ok()) return status.error();
  for (const auto& [services, count] : counts)
    out.links.push_back({services.first, services.second, count});
  return out;
}

}  // namespace

Result<Dependencies> CountDependencies(store::Store& store, const std::string& tenant,
                                       store::TimeRange time, uint64_t max_spans) {
  WF_ASSIGN(std::optional<Dependencies> calls, CountCalls(store, tenant, time));
  if (calls) return std::move(*calls);
  return CountSpans(store, tenant, time, max_spans);
}

}  // namespace wf::answer
