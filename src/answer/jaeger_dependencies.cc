#include "answer/jaeger_dependencies.h"

#include <map>
#include <unordered_map>

#include "answer/jaeger_spans.h"
#include "answer/jaeger_trace_json.h"

namespace wf {
namespace {

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

}  // namespace

Result<Dependencies> CountDependencies(Store& store, const std::string& tenant, TimeRange time,
                                       uint64_t max_spans) {
  Counts counts;
  Dependencies out;
  ScanOptions options;
  options.time = time;
  const Status status = store.Scan(tenant, options, [&](EventBatch batch) {
    batch = BlocksAsSpans(std::move(batch));
    for (const TraceRows& trace : SpansByTrace(batch)) {
      CountTrace(batch, trace, counts);
      out.spans += trace.rows.size();
    }
    return out.spans < max_spans;
  });
  if (!status.ok()) return status.error();
  for (const auto& [services, count] : counts)
    out.links.push_back({services.first, services.second, count});
  return out;
}

}  // namespace wf
