#include "store/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace wf::store {
namespace {

bool AnyHas(std::string_view packed, uint32_t key_code, std::string_view text) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    if (key == key_code && ValueHasText(value, text)) return true;
  }
  return false;
}

// wherefore.resource may be given several times or as a list.
bool AnyNames(std::string_view packed, uint32_t key_code, std::string_view text) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    if (key != key_code) continue;
    if (ValueHasText(value, text)) return true;
    if (value.type != ValueType::kArray) continue;
    ArrayReader elements(value.text);
    Value element;
    while (elements.Next(element)) {
      if (ValueHasText(element, text)) return true;
    }
  }
  return false;
}

Nanos SpanDuration(const EventBatch& batch, size_t row) {
  return SaturatingSub(RepairedEnd(batch, row), batch.start_ns[row]);
}

}  // namespace

Nanos RepairedEnd(const EventBatch& batch, size_t row) {
  const Nanos start = batch.start_ns[row];
  return (batch.marks[row] & kHasEnd) != 0 && batch.end_ns[row] > start ? batch.end_ns[row] : start;
}

bool ValueHasText(const Value& value, std::string_view text) {
  switch (value.type) {
    case ValueType::kNull:
      return text.empty();
    case ValueType::kString:
      return value.text == text;
    case ValueType::kBool:
      return text == (value.boolean ? "true" : "false");
    case ValueType::kInt: {
      const fmt::format_int digits(value.integer);
      return std::string_view(digits.data(), digits.size()) == text;
    }
    default:
      return ValueText(value) == text;
  }
}

bool HasAttribute(const EventBatch& batch, size_t row, std::string_view key,
                  std::string_view text) {
  const uint32_t code = batch.strings.Find(key);
  if (code == UINT32_MAX) return false;
  return AnyHas(batch.attrs(row), code, text) || AnyHas(batch.process_attrs(row), code, text) ||
         AnyHas(batch.scope_attrs(row), code, text);
}

std::string_view ResourceKeyName(ResourceKey key) {
  switch (key) {
    case ResourceKey::kHost:
      return "host";
    case ResourceKey::kInstance:
      return "service.instance.id";
    case ResourceKey::kPid:
      return "process.pid";
    case ResourceKey::kThread:
      return "thread.id";
    case ResourceKey::kPartition:
      return "messaging.destination.partition.id";
    case ResourceKey::kPool:
      return "db.client.connection.pool.name";
    case ResourceKey::kResource:
      return "wherefore.resource";
  }
  return "";
}

bool Overlaps(const EventBatch& batch, size_t row, TimeRange time) {
  const Nanos start = batch.start_ns[row], end = RepairedEnd(batch, row);
  return start < time.until && (end > time.from || start >= time.from);
}

bool HasRowConditions(const TraceQuery& q) {
  return q.service || q.operation || !q.attributes.empty() || q.status || q.min_span_duration_ns ||
         q.max_span_duration_ns;
}

bool RowMatches(const EventBatch& b, size_t row, const TraceQuery& q) {
  if (q.status && (b.type[row] != EventType::kSpan || b.status[row] != *q.status)) return false;
  if (q.service && b.str(b.processes[b.process[row]].service) != *q.service) return false;
  if (q.operation && b.str(b.name[row]) != *q.operation) return false;
  if (q.min_span_duration_ns && SpanDuration(b, row) < *q.min_span_duration_ns) return false;
  if (q.max_span_duration_ns && SpanDuration(b, row) > *q.max_span_duration_ns) return false;
  return std::all_of(q.attributes.begin(), q.attributes.end(),
                     [&](const auto& a) { return HasAttribute(b, row, a.first, a.second); });
}

bool RowMatches(const EventBatch& b, size_t row, const ResourceQuery& q) {
  if (!Overlaps(b, row, q.time)) return false;
  for (const auto& [key, text] : q.keys) {
    if (key == ResourceKey::kHost) {
      if (b.str(b.processes[b.process[row]].host) != text) return false;
      continue;
    }
    const uint32_t code = b.strings.Find(ResourceKeyName(key));
    if (code == UINT32_MAX) return false;
    if (!AnyNames(b.attrs(row), code, text) && !AnyNames(b.process_attrs(row), code, text))
      return false;
  }
  return true;
}

bool ComesBefore(const SearchCursor& a, const SearchCursor& b) {
  return a.start_ns != b.start_ns ? a.start_ns > b.start_ns : b.trace_id < a.trace_id;
}

bool TraceMatches(const TraceSummary& trace, const TraceQuery& q) {
  if (trace.start_ns < q.time.from || trace.start_ns >= q.time.until) return false;
  if (q.min_duration_ns && trace.duration_ns < *q.min_duration_ns) return false;
  if (q.max_duration_ns && trace.duration_ns > *q.max_duration_ns) return false;
  return !q.cursor || ComesBefore(*q.cursor, {trace.start_ns, trace.trace_id});
}

bool BatchMayMatch(const EventBatch& batch, const TraceQuery& q) {
  if (q.service && batch.strings.Find(*q.service) == UINT32_MAX) return false;
  if (q.operation && batch.strings.Find(*q.operation) == UINT32_MAX) return false;
  for (const auto& [key, text] : q.attributes) {
    if (batch.strings.Find(key) == UINT32_MAX) return false;
    // A text that begins with a letter beyond f can only be a string's (or "true"): it stands in the arena as it is.
    if (text.size() >= 4 && text[0] > 'f' && text[0] <= 'z' && text != "true" &&
        text.rfind("inf", 0) != 0 && text.rfind("nan", 0) != 0 &&
        batch.bytes.find(text) == std::string::npos) {
      return false;
    }
  }
  return true;
}

}  // namespace wf::store
