// DatasetTable: rows of features on their way from traces to a dataset, as typed columns (Canopy §4.4). Features are
// extracted into one, stores take and give them, answers print them. Thread safety: as a vector's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wf {

// The types a column can have. A stack is a list of frames, outermost first, kept as one text with '\n' between them.
enum class ColumnType : uint8_t { kBool, kInt, kDouble, kText, kStack };
constexpr std::string_view ColumnTypeName(ColumnType type) {
  constexpr std::string_view names[] = {"bool", "int", "double", "text", "stack"};
  return names[static_cast<size_t>(type)];
}

struct ColumnDefinition {
  std::string name;
  ColumnType type = ColumnType::kInt;
  bool operator==(const ColumnDefinition&) const = default;
};

// One column. Exactly one of the value vectors is used: numbers for bool (0/1) and int, doubles for double, texts for
// text and stack. valid[i] == 0: row i is null, its value is a placeholder.
struct TableColumn {
  ColumnDefinition definition;
  std::vector<uint8_t> valid;
  std::vector<int64_t> numbers;
  std::vector<double> doubles;
  std::vector<std::string> texts;

  size_t size() const { return valid.size(); }
  void AppendNull() {
    valid.push_back(0);
    AppendPlaceholder();
  }
  void AppendInt(int64_t value) {
    valid.push_back(1);
    numbers.push_back(value);
  }
  void AppendDouble(double value) {
    valid.push_back(1);
    doubles.push_back(value);
  }
  void AppendText(std::string value) {
    valid.push_back(1);
    texts.push_back(std::move(value));
  }

 private:
  void AppendPlaceholder() {
    switch (definition.type) {
      case ColumnType::kBool:
      case ColumnType::kInt:
        numbers.push_back(0);
        break;
      case ColumnType::kDouble:
        doubles.push_back(0);
        break;
      case ColumnType::kText:
      case ColumnType::kStack:
        texts.emplace_back();
        break;
    }
  }
};

struct DatasetTable {
  std::vector<TableColumn> columns;  // all of the same size

  size_t rows() const { return columns.empty() ? 0 : columns[0].size(); }
};

// The columns that every dataset has, before its own: trace_id (text, 32 hex digits), time_ns (int, the trace's start),
// row_key (text; empty for one row per trace), complete (bool).
const std::vector<ColumnDefinition>& FixedDatasetColumns();

}  // namespace wf
