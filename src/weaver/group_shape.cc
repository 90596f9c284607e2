#include "weaver/group_shape.h"

#include <algorithm>
#include <cstring>

namespace wf::weaver {
namespace {

using advice::AggregateKind;
using T = Operand::Type;
__extension__ using Int128 = __int128;

uint64_t CellAt(std::string_view bytes, uint32_t offset) {
  uint64_t cell = 0;
  std::memcpy(&cell, bytes.data() + offset, sizeof cell);
  return cell;
}

bool ShapeColumn(const Operand& column, GroupShape& shape, int& nulls) {
  KeyColumn key;
  key.offset = shape.key_bytes;
  switch (column.type) {
    case T::kOpaque:
      return false;
    case T::kNull:
      shape.key.push_back(std::move(key));
      return true;
    case T::kBool:
      key.kind = KeyColumn::Kind::kBool;
      if (column.constant) key.constant = advice::Value(column.number != 0);
      break;
    case T::kInteger:
      key.kind = KeyColumn::Kind::kInteger;
      if (column.constant) key.constant = advice::Value(column.number);
      break;
    case T::kString:
      key.kind = KeyColumn::Kind::kString;
      if (column.constant) key.constant = advice::Value(column.text);
      break;
    case T::kProcessName:
      key.kind = KeyColumn::Kind::kProcessName;
      break;
    case T::kHost:
      key.kind = KeyColumn::Kind::kHost;
      break;
  }
  if (column.constant) {
    key.kind = KeyColumn::Kind::kConstant;
  } else {
    shape.key_bytes += 8;
    if (key.kind == KeyColumn::Kind::kString) shape.key_bytes += shape.string_bytes;
    if (column.nullable()) key.null_bit = nulls++;
  }
  shape.key.push_back(std::move(key));
  return true;
}

bool ShapeAggregate(const advice::AggregateInput& input, const Operand& argument,
                    GroupShape& shape) {
  AggregateCells cells;
  cells.kind = input.aggregate.kind;
  switch (cells.kind) {
    case AggregateKind::kPercentile:
    case AggregateKind::kDistinct:
      return false;
    default:
      break;
  }
  if (argument.type == T::kOpaque) return false;
  const bool counts = cells.kind == AggregateKind::kCount;
  cells.never = counts ? argument.type == T::kNull : argument.type != T::kInteger;
  const auto take = [&shape](uint32_t count) {
    const auto at = static_cast<int32_t>(shape.value_bytes);
    shape.value_bytes += 8 * count;
    return at;
  };
  if (!cells.never) {
    if (argument.nullable()) cells.count_at = take(1);
    switch (cells.kind) {
      case AggregateKind::kSum:
      case AggregateKind::kAverage:
        cells.narrow = argument.narrow;
        cells.at = take(cells.narrow ? 1 : 2);
        break;
      case AggregateKind::kMin:
      case AggregateKind::kMax:
        cells.at = take(1);
        break;
      case AggregateKind::kHistogram:
        cells.at = take(kHistogramCells);
        break;
      default:
        break;
    }
  }
  shape.cells.push_back(cells);
  return true;
}

advice::Value ReadColumn(const KeyColumn& column, std::string_view key, const GroupShape& shape,
                         ProcessNames& names) {
  if (column.kind == KeyColumn::Kind::kConstant) return column.constant;
  if (column.null_bit >= 0 && (CellAt(key, 0) >> column.null_bit & 1) != 0) return {};
  const uint64_t cell = CellAt(key, column.offset);
  switch (column.kind) {
    case KeyColumn::Kind::kInteger:
      return static_cast<int64_t>(cell);
    case KeyColumn::Kind::kBool:
      return cell != 0;
    case KeyColumn::Kind::kProcessName:
      return names.Name(static_cast<uint32_t>(cell));
    case KeyColumn::Kind::kHost:
      return names.Host(static_cast<uint32_t>(cell));
    case KeyColumn::Kind::kString:
    case KeyColumn::Kind::kConstant:
      break;
  }
  return std::string(
      key.substr(column.offset + 8, std::min<uint64_t>(cell, uint64_t{shape.string_bytes})));
}

// `count` numbers whose sum is `sum`: of two neighbouring values, so that sum and count are both exact.
void AddSum(advice::AggregateState& state, Int128 sum, uint64_t count) {
  if (count == 0) return;
  Int128 low = sum / static_cast<Int128>(count);
  Int128 rest = sum % static_cast<Int128>(count);
  if (rest < 0) {
    rest += count;
    --low;
  }
  if (rest != 0)
    state.Add(advice::Value(static_cast<int64_t>(low + 1)), static_cast<uint64_t>(rest));
  state.Add(advice::Value(static_cast<int64_t>(low)), count - static_cast<uint64_t>(rest));
}

void AddHistogram(advice::AggregateState& state, std::string_view value, uint32_t at) {
  for (uint32_t cell = 0; cell < kHistogramCells; ++cell) {
    const uint64_t count = CellAt(value, at + cell * 8);
    if (count == 0) continue;
    const int64_t low = cell == 0 ? -1 : cell == 1 ? 0 : int64_t{1} << (cell - 2);
    state.Add(advice::Value(low), count);
  }
}

advice::AggregateState ReadAggregate(const AggregateCells& cells, std::string_view value) {
  advice::AggregateState state(cells.kind);
  if (cells.never) return state;
  const uint64_t count =
      CellAt(value, cells.count_at >= 0 ? static_cast<uint32_t>(cells.count_at) : 0);
  if (count == 0) return state;
  const auto at = static_cast<uint32_t>(cells.at);
  switch (cells.kind) {
    case AggregateKind::kCount:
      state.Add(advice::Value(true), count);
      break;
    case AggregateKind::kSum:
    case AggregateKind::kAverage: {
      Int128 sum = static_cast<int64_t>(CellAt(value, at));
      if (!cells.narrow) {
        sum = CellAt(value, at);  // of numbers from 0 to 2^32 - 1
        sum += static_cast<Int128>(static_cast<int64_t>(CellAt(value, at + 8))) << 32;
      }
      AddSum(state, sum, count);
      break;
    }
    case AggregateKind::kMin:
      state.Add(advice::Value(static_cast<int64_t>(~CellAt(value, at) ^ (uint64_t{1} << 63))), 1);
      break;
    case AggregateKind::kMax:
      state.Add(advice::Value(static_cast<int64_t>(CellAt(value, at) ^ (uint64_t{1} << 63))), 1);
      break;
    case AggregateKind::kHistogram:
      AddHistogram(state, value, at);
      break;
    default:
      break;
  }
  return state;
}

}  // namespace

bool ShapeGroups(const advice::Grouping& grouping, const std::vector<Operand>& columns,
                 const std::vector<Operand>& arguments, uint32_t string_bytes, GroupShape& shape) {
  shape = {};
  shape.string_bytes = string_bytes;
  int nulls = 0;
  for (const Operand& column : columns)
    if (column.nullable()) shape.key_bytes = 8;
  for (const Operand& column : columns)
    if (!ShapeColumn(column, shape, nulls)) return false;
  for (size_t i = 0; i < grouping.aggregates.size(); ++i) {
    if (grouping.aggregates[i].carried) return false;
    if (!ShapeAggregate(grouping.aggregates[i], arguments[i], shape)) return false;
  }
  return nulls <= 64;
}

uint64_t ReadGroup(const GroupShape& shape, std::string_view key, std::string_view value,
                   ProcessNames& names, advice::Rows& rows) {
  const uint64_t tuples = CellAt(value, 0);
  if (tuples == 0) return 0;
  for (const KeyColumn& column : shape.key) rows.AddColumn(ReadColumn(column, key, shape, names));
  for (const AggregateCells& cells : shape.cells) rows.AddState(ReadAggregate(cells, value));
  rows.EndRow(tuples);
  return tuples;
}

}  // namespace wf::weaver
