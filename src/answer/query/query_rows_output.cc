#include <fmt/format.h>

#include "answer/frame/text_table.h"
#include "answer/query/query_answer.h"

namespace wf::answer {
namespace {

std::string Cell(const advice::Value& value) {
  if (value.null()) return "–";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  JsonWriter json;
  query::WriteValue(json, value);
  return json.Take();
}

bool IsNumber(const advice::Value& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
}

}  // namespace

std::string QueryRowsJson(const QueryRows& answer) {
  JsonWriter json;
  json.BeginObject().Key("columns").BeginArray();
  for (const std::string& name : answer.columns) json.String(name);
  query::WriteRows(json.EndArray().Key("rows"), answer.rows);
  json.Key("cost").BeginObject().Field("packed_tuples_max", answer.cost.packed_tuples_max);
  json.Field("baggage_bytes_max", answer.cost.baggage_bytes_max);
  json.Field("emitted", answer.cost.emitted).EndObject();
  json.Key("input").BeginObject().Field("events", answer.events);
  json.Field("unknown_after", answer.unknown_after);
  if (answer.traces_modeled)
    json.Field("traces_modeled", *answer.traces_modeled)
        .Field("dropped_edges", answer.dropped_edges);
  json.EndObject().EndObject();
  return json.Take();
}

std::string QueryRowsText(const QueryRows& answer) {
  std::vector<size_t> right;
  size_t elastic = 0, widest = 0;
  for (size_t i = 0; i < answer.columns.size(); ++i) {
    size_t numbers = 0, width = 0;
    for (const advice::Tuple& row : answer.rows) {
      if (IsNumber(row[i])) ++numbers;
      width = std::max(width, DisplayWidth(Cell(row[i])));
    }
    if (numbers > 0) right.push_back(i);
    if (numbers == 0 && width > widest) {
      widest = width;
      elastic = i;
    }
  }
  std::vector<std::string> heads;
  for (const std::string& name : answer.columns) heads.push_back(Printable(name));
  TextTable table(std::move(heads), right);
  for (const advice::Tuple& row : answer.rows) {
    std::vector<std::string> cells;
    for (const advice::Value& value : row) cells.push_back(Cell(value));
    table.Row(std::move(cells));
  }
  return table.Print(TextWidth(), elastic) +
         fmt::format("{} of {}\n", CountOf(answer.rows.size(), "row"),
                     CountOf(static_cast<uint64_t>(answer.events), "event"));
}

}  // namespace wf::answer
