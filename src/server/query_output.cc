#include "server/query_output.h"

namespace wf {
namespace {

void WriteTable(const std::vector<std::string>& columns, const std::vector<advice::Tuple>& rows,
                JsonWriter& json) {
  json.Key("columns").BeginArray();
  for (const std::string& column : columns) json.String(column);
  json.EndArray().Key("rows").BeginArray();
  for (const advice::Tuple& row : rows) {
    json.BeginArray();
    for (const advice::Value& value : row) WriteQueryValue(value, json);
    json.EndArray();
  }
  json.EndArray();
}

}  // namespace

void WriteQueryValue(const advice::Value& value, JsonWriter& json) {
  if (const auto* truth = std::get_if<bool>(&value)) {
    json.Bool(*truth);
  } else if (const auto* integer = std::get_if<int64_t>(&value)) {
    json.Int(*integer);
  } else if (const auto* number = std::get_if<double>(&value)) {
    json.Double(*number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    json.String(*text);
  } else if (const auto* list = std::get_if<advice::List>(&value)) {
    json.BeginArray();
    for (const advice::Value& one : *list) WriteQueryValue(one, json);
    json.EndArray();
  } else {
    json.Null();
  }
}

std::string IntervalJson(const std::vector<std::string>& columns, const ClosedInterval& interval) {
  JsonWriter json;
  json.BeginObject().Field("start_ns", interval.start_ns).Field("end_ns", interval.end_ns);
  WriteTable(columns, interval.rows, json);
  json.Field("lost", interval.lost).EndObject();
  return json.Take();
}

std::string TotalJson(const std::vector<std::string>& columns,
                      const std::vector<advice::Tuple>& rows, const LiveQueryCost& cost) {
  JsonWriter json;
  json.BeginObject();
  WriteTable(columns, rows, json);
  json.Key("cost")
      .BeginObject()
      .Field("packed_tuples_max", cost.packed_tuples_max)
      .Field("baggage_bytes_max", cost.baggage_bytes_max)
      .Field("emitted", cost.tuples)
      .EndObject();
  json.Key("input")
      .BeginObject()
      .Field("events", cost.hits)
      .Field("unknown_after", int64_t{0})
      .EndObject();
  json.EndObject();
  return json.Take();
}

}  // namespace wf
