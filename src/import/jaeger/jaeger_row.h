// What Jaeger's two encodings share. Internal to this folder.
#pragma once

#include <vector>

#include "import/decode/attribute_writer.h"

namespace wf::jaeger {

struct Reference {
  ParentRef kind = ParentRef::kChildOf;
  TraceId trace_id;
  SpanId span_id;
};

// Chooses the parent of the last row among its references and returns its index, or references.size().
size_t ChooseParent(EventBatch& batch, const std::vector<Reference>& references);
// Packs all references except the parent's as links.
void PutLinks(EventBatch& batch, const std::vector<Reference>& references, size_t parent);

// Packs one tag. A text value is checked for UTF-8.
void PutTag(std::string_view key, const Value& value, decode::AttributeWriter& writer);
// Sets kind and status of the last row when the tag says so.
void ApplyTag(std::string_view key, const Value& value, decode::AttributeWriter& writer);

// The name of a log's point from one of its fields: keeps the better of the current and the new one.
struct LogName {
  std::string_view text = "log";
  int rank = 2;
  void Offer(std::string_view key, const Value& value) {
    const int offered = key == "event" ? 0 : key == "message" ? 1 : 2;
    if (offered < rank && value.type == ValueType::kString) {
      text = value.text;
      rank = offered;
    }
  }
};

}  // namespace wf::jaeger
