#include "import/otlp/otlp_export_plan.h"

#include <unordered_map>

#include "import/otlp/otlp_encoder.h"
#include "import/otlp/otlp_row.h"

namespace wf::otlp {

std::vector<uint32_t> AllRows(const EventBatch& batch) {
  std::vector<uint32_t> rows(batch.size());
  for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
  return rows;
}

namespace {

Value IntValue(int64_t number) {
  Value value;
  value.type = ValueType::kInt;
  value.integer = number;
  return value;
}
Value TextValue(std::string_view text) {
  Value value;
  value.type = ValueType::kString;
  value.text = text;
  return value;
}

bool IsCount(const KeyedValue& a, std::string_view key) {
  return a.key == key && a.value.type == ValueType::kInt && a.value.integer > 0 &&
         a.value.integer <= UINT32_MAX;
}

}  // namespace

std::vector<ProcessGroup> GroupRows(const EventBatch& batch, const std::vector<uint32_t>& rows) {
  std::vector<ProcessGroup> groups;
  std::unordered_map<uint64_t, std::pair<size_t, size_t>> place;  // (process, scope) → indices
  std::unordered_map<uint32_t, size_t> process_place;
  for (const uint32_t row : rows) {
    const uint32_t process = batch.process[row], scope = batch.scope[row];
    const auto [it, is_new] = place.try_emplace(uint64_t{process} << 32 | scope);
    if (is_new) {
      const auto [p, new_process] = process_place.try_emplace(process, groups.size());
      if (new_process) groups.push_back({process, {}});
      it->second = {p->second, groups[p->second].scopes.size()};
      groups[p->second].scopes.push_back({scope, {}});
    }
    groups[it->second.first].scopes[it->second.second].rows.push_back(row);
  }
  return groups;
}

SplitAttributes Split(const EventBatch& batch, std::string_view packed, FieldsOf fields) {
  SplitAttributes out;
  AttributeReader reader(packed);
  uint32_t code;
  Value value;
  while (reader.Next(code, value)) out.attributes.push_back({batch.str(code), value});
  auto& list = out.attributes;
  const auto take_count = [&](std::string_view key, uint32_t& count) {
    if (list.empty() || !IsCount(list.back(), key)) return;
    count = static_cast<uint32_t>(list.back().value.integer);
    list.pop_back();
  };
  if (fields == FieldsOf::kProcess || fields == FieldsOf::kScope) {
    if (!list.empty() && list.back().key == kSchemaUrl &&
        list.back().value.type == ValueType::kString && !list.back().value.text.empty()) {
      out.schema_url = list.back().value.text;
      list.pop_back();
    }
  }
  if (fields == FieldsOf::kSpan) {
    take_count(kDroppedLinks, out.dropped_links);
    take_count(kDroppedEvents, out.dropped_events);
  }
  take_count(kDroppedAttributes, out.dropped_attributes);
  return out;
}

std::vector<KeyedValue> RowAttributes(const EventBatch& batch, uint32_t row) {
  std::vector<KeyedValue> out;
  if (batch.type[row] != EventType::kSpan) {
    out.push_back({kRowType, TextValue(wherefore::EventTypeName(batch.type[row]))});
  }
  if (batch.marks[row] != OtlpMarks(batch.start_ns[row], batch.end_ns[row])) {
    out.push_back({kRowMarks, IntValue(batch.marks[row])});
  }
  if (batch.parent_ref[row] != (batch.id2[row] != 0 ? ParentRef::kChildOf : ParentRef::kNone)) {
    out.push_back({kRowParentRef, IntValue(static_cast<int>(batch.parent_ref[row]))});
  }
  if (batch.sequence_of(row) != kNoSequence)
    out.push_back({kRowSequence, IntValue(batch.sequence_of(row))});
  if (batch.source_of(row) != Source::kRecorded) {
    out.push_back({kRowSource, IntValue(static_cast<int>(batch.source_of(row)))});
  }
  if (batch.probability_of(row) != 1.0f) {
    Value probability;
    probability.type = ValueType::kDouble;
    probability.number = static_cast<double>(batch.probability_of(row));
    out.push_back({kRowProbability, probability});
  }
  return out;
}

std::vector<KeyedValue> MissingProcessAttributes(const EventBatch& batch, uint32_t process) {
  const Process& p = batch.processes[process];
  bool has_service = false, has_host = false;
  AttributeReader reader(batch.Slice(p.attrs_begin, p.attrs_end));
  uint32_t code;
  Value value;
  while (reader.Next(code, value)) {
    const std::string_view key = batch.str(code);
    has_service = has_service || key == "service.name";
    has_host =
        has_host || key == "host.id" || key == "host.name" || key == "hostname" || key == "ip";
  }
  std::vector<KeyedValue> out;
  if (!has_service && p.service != 0)
    out.push_back({"service.name", TextValue(batch.str(p.service))});
  if (!has_host && p.host != 0) out.push_back({"host.name", TextValue(batch.str(p.host))});
  return out;
}

}  // namespace wf::otlp
