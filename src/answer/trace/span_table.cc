#include "answer/trace/span_table.h"

#include "answer/frame/attribute_json.h"
#include "base/utf8.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

constexpr std::string_view kKinds[] = {"unspecified", "internal", "server",
                                       "client",      "producer", "consumer"};
constexpr std::string_view kStatuses[] = {"unset", "ok", "error"};

void Attributes(const EventBatch& batch, std::string_view packed, JsonWriter& json) {
  json.BeginObject();
  AttributeReader reader(packed);
  uint32_t key;
  for (Value value; reader.Next(key, value);) {
    json.Key(batch.str(key));
    WriteValue(value, json);
  }
  json.EndObject();
}

std::string AttributesText(const EventBatch& batch, std::string_view packed) {
  JsonWriter json;
  Attributes(batch, packed, json);
  return json.Take();
}

std::string PointsText(const EventBatch& batch, size_t row) {
  JsonWriter json;
  json.BeginArray();
  PointReader reader(batch.points(row));
  for (PackedPoint point; reader.Next(point);) {
    json.BeginObject()
        .Field("time_ns", point.time_ns)
        .Field("name", batch.str(point.name))
        .Key("attributes");
    Attributes(batch, point.attrs, json);
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

std::string LinksText(const EventBatch& batch, size_t row) {
  JsonWriter json;
  json.BeginArray();
  LinkReader reader(batch.links(row));
  for (PackedLink link; reader.Next(link);) {
    json.BeginObject()
        .Field("trace_id", ToHex(link.trace_id))
        .Field("span_id", ToHex(link.span_id))
        .Key("attributes");
    Attributes(batch, link.attrs, json);
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

}  // namespace

const std::vector<SpanColumn>& SpanColumns() {
  using enum SpanColumnType;
  static const std::vector<SpanColumn> columns = {
      {"trace_id", kText},  {"span_id", kText},    {"parent_span_id", kText},
      {"type", kText},      {"service", kText},    {"name", kText},
      {"kind", kText},      {"status", kText},     {"status_message", kText},
      {"start_ns", kInt64}, {"end_ns", kInt64},    {"received_ns", kInt64},
      {"flags", kInt64},    {"tracestate", kText}, {"host", kText},
      {"scope", kText},     {"attributes", kText}, {"process_attributes", kText},
      {"events", kText},    {"links", kText},
  };
  return columns;
}

SpanTable MakeSpanTable(const EventBatch& b) {
  SpanTable table;
  table.rows = b.size();
  table.texts.resize(SpanColumns().size());
  table.integers.resize(SpanColumns().size());
  for (size_t row = 0; row < b.size(); ++row) {
    size_t column = 0;
    const auto text = [&](std::string_view value) {
      table.texts[column++].push_back(IsUtf8(value) ? std::string(value) : RepairUtf8(value));
    };
    const auto integer = [&](int64_t value) { table.integers[column++].push_back(value); };
    const Process& process = b.processes[b.process[row]];
    text(ToHex(b.trace_id(row)));
    text(ToHex64(b.id1[row]));
    text(b.id2[row] == 0 ? "" : ToHex64(b.id2[row]));
    text(wherefore::EventTypeName(b.type[row]));
    text(b.str(process.service));
    text(b.str(b.name[row]));
    text(kKinds[static_cast<size_t>(b.kind[row]) % std::size(kKinds)]);
    text(kStatuses[static_cast<size_t>(b.status[row]) % std::size(kStatuses)]);
    text(b.str(b.status_message[row]));
    integer(b.start_ns[row]);
    integer(b.end_ns[row]);
    integer(b.received_of(row));
    integer(b.flags[row]);
    text(b.str(b.tracestate[row]));
    text(b.str(process.host));
    text(b.str(b.scopes[b.scope[row]].name));
    text(AttributesText(b, b.attrs(row)));
    text(AttributesText(b, b.process_attrs(row)));
    text(PointsText(b, row));
    text(LinksText(b, row));
  }
  return table;
}

}  // namespace wf::answer
