#include "answer/frame/attribute_json.h"

#include <algorithm>
#include <vector>

#include "base/base64.h"

namespace wf::answer {
namespace {

// Senders nest values as deep as they like; what is deeper than any honest use is not worth our stack.
constexpr int kMaxDepth = 64;

void WriteValueAt(const Value& value, JsonWriter& json, int depth) {
  switch (value.type) {
    case ValueType::kNull:
      json.Null();
      return;
    case ValueType::kString:
      json.String(value.text);
      return;
    case ValueType::kBool:
      json.Bool(value.boolean);
      return;
    case ValueType::kInt:
      json.Int(value.integer);
      return;
    case ValueType::kDouble:
      json.Double(value.number);
      return;
    case ValueType::kBytes:
      json.BeginObject().Field("bytes", Base64Encode(value.text)).EndObject();
      return;
    case ValueType::kArray: {
      if (depth >= kMaxDepth) {
        json.String("…");
        return;
      }
      json.BeginArray();
      ArrayReader reader(value.text);
      for (Value element; reader.Next(element);) WriteValueAt(element, json, depth + 1);
      json.EndArray();
      return;
    }
    case ValueType::kMap: {
      if (depth >= kMaxDepth) {
        json.String("…");
        return;
      }
      json.BeginObject();
      MapReader reader(value.text);
      std::string_view key;
      for (Value element; reader.Next(key, element);) {
        json.Key(key);
        WriteValueAt(element, json, depth + 1);
      }
      json.EndObject();
      return;
    }
  }
}

}  // namespace

void WriteValue(const Value& value, JsonWriter& json) { WriteValueAt(value, json, 0); }

void WriteAttributes(const Trace& trace, std::string_view packed, JsonWriter& json) {
  // Keys seen so far: few, so a scan beats a set.
  struct Entry {
    uint32_t key;
    Value value;
  };
  static thread_local std::vector<Entry> entries;
  entries.clear();
  AttributeReader reader(packed);
  uint32_t key;
  for (Value value; reader.Next(key, value);) {
    const auto known = entries.size() > 256
                           ? entries.end()
                           : std::find_if(entries.begin(), entries.end(),
                                          [&](const Entry& e) { return e.key == key; });
    if (known != entries.end())
      known->value = value;
    else
      entries.push_back({key, value});
  }
  json.BeginObject();
  for (const Entry& entry : entries) {
    json.Key(trace.str(entry.key));
    WriteValue(entry.value, json);
  }
  json.EndObject();
}

void WriteAnnotations(const Trace& trace, ElementKind element, uint32_t index, JsonWriter& json) {
  if (trace.annotations.empty()) return;
  const auto [begin, end] = trace.annotations_of(element, index);
  if (begin == end) return;
  json.Key("annotations").BeginArray();
  for (const Annotation* a = begin; a != end; ++a) {
    json.BeginObject().Field("kind", AnnotationKindName(a->kind)).Field("name", a->name);
    if (!a->unit.empty()) json.Field("unit", a->unit);
    json.Key("value");
    WriteValue(a->value, json);
    json.EndObject();
  }
  json.EndArray();
}

void WriteMissing(const Trace& trace, JsonWriter& json) {
  json.Key("missing").BeginArray();
  for (const Missing& missing : trace.missing) {
    json.BeginObject()
        .Field("what", MissingWhatName(missing.what))
        .Field("span_id", ToHex64(missing.id));
    json.Field("may_still_come", missing.may_still_come).EndObject();
  }
  json.EndArray();
}

void WriteClocks(const Trace& trace, JsonWriter& json) {
  json.Key("clocks").BeginArray();
  for (const ClockOffset& clock : trace.clocks) {
    json.BeginObject()
        .Field("host", clock.host)
        .Field("from_ns", clock.from_ns)
        .Field("offset_ns", clock.offset_ns);
    json.Field("error_ns", clock.error_ns).EndObject();
  }
  json.EndArray();
}

void WriteViolations(const Trace& trace, JsonWriter& json) {
  json.Key("violations").BeginArray();
  for (const Violation& violation : trace.violations) {
    json.BeginObject().Field("invariant", InvariantName(violation.invariant));
    json.Field("element", ToHex64(violation.element)).EndObject();
  }
  json.EndArray();
}

}  // namespace wf::answer
