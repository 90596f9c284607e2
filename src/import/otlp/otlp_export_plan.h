// The shape both encoders write: rows grouped by process and scope, and attribute lists split into those with
// a field in OTLP and the rest. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/event_batch.h"

namespace wf::otlp {

struct ScopeGroup {
  uint32_t scope = 0;
  std::vector<uint32_t> rows;
};
struct ProcessGroup {
  uint32_t process = 0;
  std::vector<ScopeGroup> scopes;
};
// In order of first appearance.
std::vector<ProcessGroup> GroupRows(const EventBatch& batch, const std::vector<uint32_t>& rows);

struct KeyedValue {
  std::string_view key;
  Value value;
};

// The decoder writes OTLP's own fields as the last attributes, in a fixed order; exactly these become fields
// again.
struct SplitAttributes {
  std::vector<KeyedValue> attributes;
  uint32_t dropped_attributes = 0, dropped_events = 0, dropped_links = 0;
  std::string_view schema_url;
};
enum class FieldsOf { kProcess, kScope, kSpan, kPointOrLink };
SplitAttributes Split(const EventBatch& batch, std::string_view packed, FieldsOf fields);

// Attributes under "wherefore.row." that the row needs; empty for a span that came over OTLP.
std::vector<KeyedValue> RowAttributes(const EventBatch& batch, uint32_t row);

// service.name, when a process knows its service but has no such attribute (rows not decoded by us), and the host.
std::vector<KeyedValue> MissingProcessAttributes(const EventBatch& batch, uint32_t process);

}  // namespace wf::otlp
