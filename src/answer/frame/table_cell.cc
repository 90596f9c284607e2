#include "answer/frame/table_cell.h"

#include <fmt/format.h>

#include <cmath>

#include "base/nanos.h"
#include "lang/feature/element_keys.h"

namespace wf::answer {
namespace {

// p95(latency_ns)_high → latency_ns
std::string_view ColumnInside(std::string_view name) {
  for (const std::string_view bound : {"_low", "_high"}) {
    if (name.size() > bound.size() && name.substr(name.size() - bound.size()) == bound)
      name.remove_suffix(bound.size());
  }
  const size_t open = name.find('(');
  if (open == std::string_view::npos || name.back() != ')') return name;
  return name.substr(open + 1, name.size() - open - 2);
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string InstantText(Nanos instant) {
  const std::string exact = FormatInstant(instant);  // …:06.789000000Z
  return exact.substr(0, instant % kSecond == 0 ? 19 : 23) + "Z";
}

std::string BytesText(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  for (; std::fabs(bytes) >= 999.5 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000;
  const double size = std::fabs(bytes);
  const int decimals = unit == 0 ? 0 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", bytes, decimals, kUnits[unit]);
}

}  // namespace

void WriteCellJson(const TableColumn& column, size_t row, JsonWriter& json) {
  if (column.valid[row] == 0) {
    json.Null();
    return;
  }
  switch (column.definition.type) {
    case ColumnType::kBool:
      json.Bool(column.numbers[row] != 0);
      return;
    case ColumnType::kInt:
      json.Int(column.numbers[row]);
      return;
    case ColumnType::kDouble:
      std::isfinite(column.doubles[row]) ? json.Raw(feature::NumberText(column.doubles[row]))
                                         : json.Null();
      return;
    case ColumnType::kText:
    case ColumnType::kStack:
      json.String(column.texts[row]);
      return;
  }
}

std::string CellText(const TableColumn& column, size_t row) {
  if (column.valid[row] == 0) return "";
  switch (column.definition.type) {
    case ColumnType::kBool:
      return column.numbers[row] != 0 ? "true" : "false";
    case ColumnType::kInt:
      return std::to_string(column.numbers[row]);
    case ColumnType::kDouble:
      return feature::NumberText(column.doubles[row]);
    case ColumnType::kText:
    case ColumnType::kStack:
      return column.texts[row];
  }
  return "";
}

CellUnit UnitOfColumn(std::string_view name) {
  if (name.rfind("count(", 0) == 0 || name.rfind("distinct(", 0) == 0) return CellUnit::kNone;
  const std::string_view inner = ColumnInside(name);
  if (inner == "time_ns") return CellUnit::kInstant;
  if (EndsWith(inner, "_ns")) return CellUnit::kDuration;
  return inner == "bytes" || EndsWith(inner, "_bytes") ? CellUnit::kBytes : CellUnit::kNone;
}

std::string CellForReaders(const TableColumn& column, size_t row) {
  const ColumnType type = column.definition.type;
  const CellUnit unit = UnitOfColumn(column.definition.name);
  const bool number = type == ColumnType::kInt || type == ColumnType::kDouble;
  if (column.valid[row] == 0 || !number || unit == CellUnit::kNone) return CellText(column, row);
  const double value = type == ColumnType::kInt ? static_cast<double>(column.numbers[row])
                                                : std::round(column.doubles[row]);
  if (unit == CellUnit::kBytes) return BytesText(value);
  if (!(std::fabs(value) < 9.2e18)) return CellText(column, row);
  const Nanos time = type == ColumnType::kInt ? column.numbers[row] : static_cast<Nanos>(value);
  return unit == CellUnit::kInstant ? InstantText(time) : FormatDuration(time);
}

}  // namespace wf::answer
