#include "lang/ndlog/tables.h"

#include <algorithm>

#include "base/hash.h"

namespace wf::ndlog {
namespace {

bool SameColumns(const std::vector<int>& columns, const List& a, const List& b) {
  for (const int column : columns) {
    const auto at = static_cast<size_t>(column);
    if (at < a.size() && at < b.size() && !(a[at] == b[at])) return false;
  }
  return true;
}

}  // namespace

uint64_t Table::HashColumns(const std::vector<int>& columns, const List& values) {
  uint64_t hash = columns.size();
  for (const int column : columns) {
    const auto at = static_cast<size_t>(column);
    if (at < values.size()) hash = MixBits(hash * 31 + values[at].Hash());
  }
  return hash;
}

Row* Table::Find(const List& values, uint64_t hash) const {
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return nullptr;
  for (Row* row : found->second)
    if (row->values == values) return row;
  return nullptr;
}

void Table::AddAlive(Row* row) {
  by_order_.emplace(row->order, row);
  for (Index& index : indexes_) Put(index, row);
  if (!predicate_->keys.empty()) {
    if (keys_.columns.empty()) keys_.columns = predicate_->keys;
    Put(keys_, row);
  }
}

void Table::RemoveAlive(Row* row) {
  by_order_.erase(row->order);
  const auto drop = [&](Index& index) {
    const auto found = index.rows.find(HashColumns(index.columns, row->values));
    if (found == index.rows.end()) return;
    auto& rows = found->second;
    rows.erase(std::remove(rows.begin(), rows.end(), row), rows.end());
    if (rows.empty()) index.rows.erase(found);
  };
  for (Index& index : indexes_) drop(index);
  if (!predicate_->keys.empty()) drop(keys_);
}

Row* Table::HolderOfKey(const List& values) const {
  if (predicate_->keys.empty()) return nullptr;  // the whole tuple: then it is the row itself
  const auto found = keys_.rows.find(HashColumns(predicate_->keys, values));
  if (found == keys_.rows.end()) return nullptr;
  for (Row* row : found->second)
    if (SameColumns(predicate_->keys, row->values, values)) return row;
  return nullptr;
}

Row* Table::Oldest() const { return by_order_.empty() ? nullptr : by_order_.begin()->second; }

const std::vector<Row*>& Table::Matching(const std::vector<int>& columns, const List& key) {
  static const std::vector<Row*> kNone;
  auto index = std::find_if(indexes_.begin(), indexes_.end(),
                            [&](const Index& known) { return known.columns == columns; });
  if (index == indexes_.end()) {
    indexes_.push_back({columns, {}});
    index = indexes_.end() - 1;
    for (const auto& [order, row] : by_order_) Put(*index, row);
  }
  uint64_t hash = columns.size();
  for (const Value& value : key) hash = MixBits(hash * 31 + value.Hash());
  const auto found = index->rows.find(hash);
  return found == index->rows.end() ? kNone : found->second;
}

}  // namespace wf::ndlog
