// A Store searches columns and attributes. Jaeger also lets people search by tags that it derives
// from other fields (span.kind=server); these are checked here on the rows of what the store found,
// page after page, until enough traces are found. The pages read are bounded, and the answer says
// when the bound was met.
#include "answer/jaeger/jaeger_search.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "answer/jaeger/jaeger_spans.h"

namespace wf::answer {
namespace {

constexpr int kMaxPages = 20;
constexpr size_t kPageTraces = 200;

std::string_view DerivedTag(const EventBatch& batch, size_t row, std::string_view key) {
  const Scope& scope = batch.scopes[batch.scope[row]];
  if (key == "span.kind") return JaegerSpanKind(batch.kind[row]);
  if (key == "otel.scope.name") return batch.str(scope.name);
  if (key == "otel.scope.version") return batch.str(scope.version);
  return batch.str(batch.status_message[row]);  // otel.status_description
}

bool HasAttribute(std::string_view packed, uint32_t wanted, const std::string& text) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    if (key == wanted && ValueText(value) == text) return true;
  }
  return false;
}

// The whole query on one span: derived tags only count on the span that has everything else too.
bool Matches(const EventBatch& batch, size_t row, const JaegerSearch& search) {
  const store::TraceQuery& query = search.query;
  if (query.service && batch.str(batch.processes[batch.process[row]].service) != *query.service)
    return false;
  if (query.operation && batch.str(batch.name[row]) != *query.operation) return false;
  if (query.status && batch.status[row] != *query.status) return false;
  const Nanos duration =
      (batch.marks[row] & kHasEnd) != 0
          ? std::max<Nanos>(0, SaturatingSub(batch.end_ns[row], batch.start_ns[row]))
          : 0;
  if (query.min_span_duration_ns && duration < *query.min_span_duration_ns) return false;
  if (query.max_span_duration_ns && duration > *query.max_span_duration_ns) return false;
  for (const auto& [key, text] : search.derived) {
    if (DerivedTag(batch, row, key) != text) return false;
  }
  for (const auto& [key, text] : query.attributes) {
    const uint32_t code = batch.strings.Find(key);
    if (!HasAttribute(batch.attrs(row), code, text) &&
        !HasAttribute(batch.process_attrs(row), code, text) &&
        !HasAttribute(batch.scope_attrs(row), code, text)) {
      return false;
    }
  }
  return true;
}

Result<std::unordered_set<TraceId>> WithDerivedTags(store::EventStore& store,
                                                    const std::string& tenant,
                                                    const JaegerSearch& search,
                                                    const std::vector<store::TraceSummary>& page) {
  std::vector<TraceId> ids;
  for (const store::TraceSummary& trace : page) ids.push_back(trace.trace_id);
  WF_ASSIGN(EventBatch events, store.ReadTraces(tenant, ids));
  const EventBatch batch = BlocksAsSpans(std::move(events));
  std::unordered_set<TraceId> matching;
  for (size_t row = 0; row < batch.size(); ++row) {
    if (Matches(batch, row, search)) {
      matching.insert(batch.trace_id(row));
    }
  }
  return matching;
}

// Ids of matching traces, newest first, at most `limit`.
Result<std::vector<store::TraceSummary>> Search(store::EventStore& store, const std::string& tenant,
                                                const JaegerSearch& search, size_t limit,
                                                std::vector<std::string>& notes) {
  std::vector<store::TraceSummary> found;
  store::TraceQuery query = search.query;
  for (int pages = 0; found.size() < limit; ++pages) {
    if (pages == kMaxPages && !search.derived.empty()) {
      notes.push_back("the newest " + std::to_string(kMaxPages * kPageTraces) +
                      " traces were looked through for " + search.derived[0].first +
                      "; narrow the search by operation, tags or time");
      break;
    }
    query.limit = search.derived.empty() ? limit - found.size() : kPageTraces;
    WF_ASSIGN(store::SearchPage page, store.Search(tenant, query));
    if (search.derived.empty()) {
      found.insert(found.end(), page.traces.begin(), page.traces.end());
    } else if (!page.traces.empty()) {
      WF_ASSIGN(const auto matching, WithDerivedTags(store, tenant, search, page.traces));
      for (const store::TraceSummary& trace : page.traces) {
        if (found.size() < limit && matching.count(trace.trace_id) != 0) found.push_back(trace);
      }
    }
    if (!page.next || page.traces.empty()) break;
    query.cursor = page.next;
  }
  return found;
}

Status ReadInOrder(store::EventStore& store, const std::string& tenant,
                   const std::vector<TraceId>& ids, JaegerFound& found) {
  if (ids.empty()) return {};
  WF_ASSIGN(EventBatch events, store.ReadTraces(tenant, ids));
  found.batch = BlocksAsSpans(std::move(events));
  std::unordered_map<TraceId, TraceRows> by_id;
  for (TraceRows& trace : SpansByTrace(found.batch)) by_id.emplace(trace.id, std::move(trace));
  for (const TraceId& id : ids) {
    const auto at = by_id.find(id);
    if (at == by_id.end()) {
      found.not_found.push_back(id);
    } else {
      found.traces.push_back(std::move(at->second));
      by_id.erase(at);
    }
  }
  return {};
}

}  // namespace

Result<JaegerFound> FindJaegerTraces(store::EventStore& store, const std::string& tenant,
                                     const JaegerSearch& search) {
  JaegerFound found;
  if (!search.ids.empty()) {
    std::vector<TraceId> ids;
    std::unordered_set<TraceId> seen;
    for (const TraceId& id : search.ids) {
      if (seen.insert(id).second) ids.push_back(id);
    }
    WF_TRY(ReadInOrder(store, tenant, ids, found));
    return found;
  }

  const size_t limit = std::min(search.query.limit, kJaegerMaxTraces);
  WF_ASSIGN(const auto summaries, Search(store, tenant, search, limit, found.notes));
  std::vector<TraceId> ids;
  int64_t spans = 0;
  for (const store::TraceSummary& trace : summaries) {
    spans += trace.spans;
    if (!ids.empty() && spans > kJaegerMaxSpans) {
      found.notes.push_back("the answer holds the newest " + std::to_string(ids.size()) + " of " +
                            std::to_string(summaries.size()) +
                            " traces, because one answer holds at most " +
                            std::to_string(kJaegerMaxSpans) + " spans; lower the limit");
      break;
    }
    ids.push_back(trace.trace_id);
  }
  if (search.query.limit > limit && summaries.size() == limit) {
    found.notes.push_back("limit " + std::to_string(search.query.limit) + " was held at " +
                          std::to_string(limit));
  }
  WF_TRY(ReadInOrder(store, tenant, ids, found));
  // Retired between the two reads: no longer there is not an error of the search.
  found.not_found.clear();
  return found;
}

}  // namespace wf::answer
