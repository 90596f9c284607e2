// For tests: rows of datasets made one by one, and tables as lines of text.
#pragma once

#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "model/dataset_table.h"

namespace wf::store {

// Builds rows of a dataset one after another: fixed columns, then own ones by place.
class RowsBuilder {
 public:
  explicit RowsBuilder(const std::vector<ColumnDefinition>& own) {
    for (const ColumnDefinition& column : FixedDatasetColumns())
      table_.columns.emplace_back().definition = column;
    for (const ColumnDefinition& column : own) table_.columns.emplace_back().definition = column;
  }
  using Value = std::variant<std::monostate, int64_t, double, std::string>;
  RowsBuilder& Row(TraceId trace, Nanos time, const std::string& key,
                   const std::vector<Value>& values) {
    table_.columns[0].AppendText(ToHex(trace));
    table_.columns[1].AppendInt(time);
    table_.columns[2].AppendText(key);
    table_.columns[3].AppendInt(1);
    for (size_t i = 0; i < values.size(); ++i) {
      TableColumn& column = table_.columns[4 + i];
      if (const auto* whole = std::get_if<int64_t>(&values[i])) column.AppendInt(*whole);
      if (const auto* real = std::get_if<double>(&values[i])) column.AppendDouble(*real);
      if (const auto* text = std::get_if<std::string>(&values[i])) column.AppendText(*text);
      if (std::holds_alternative<std::monostate>(values[i])) column.AppendNull();
    }
    return *this;
  }
  const DatasetTable& table() const { return table_; }

 private:
  DatasetTable table_;
};

// A table as lines of text, for readable expectations: "a|1|null".
inline std::vector<std::string> Lines(const DatasetTable& table) {
  std::vector<std::string> out;
  for (size_t row = 0; row < table.rows(); ++row) {
    std::string line;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const TableColumn& column = table.columns[c];
      if (c != 0) line += "|";
      if (column.valid[row] == 0) {
        line += "null";
      } else if (!column.texts.empty()) {
        line += column.texts[row];
      } else if (!column.doubles.empty()) {
        char text[32];
        std::snprintf(text, sizeof text, "%.10g", column.doubles[row]);
        line += text;
      } else {
        line += std::to_string(column.numbers[row]);
      }
    }
    out.push_back(line);
  }
  return out;
}

}  // namespace wf::store
