#include "store/memory/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <regex>
#include <set>

#include "base/hash.h"
#include "base/utf8.h"
#include "store/row_query.h"

namespace wf::store::memory {
namespace {

DatasetTable EmptyTable(const std::vector<ColumnDefinition>& columns) {
  DatasetTable table;
  for (const ColumnDefinition& column : columns) table.columns.emplace_back().definition = column;
  return table;
}

// As stored: texts are UTF-8.
void AppendCell(const TableColumn& from, size_t row, TableColumn& to) {
  CopyCell(from, row, to);
  if (!to.texts.empty() && !IsUtf8(to.texts.back())) to.texts.back() = RepairUtf8(to.texts.back());
}

Status CheckExpressions(const DatasetQuery& query) {
  for (const ColumnCondition& condition : query.where) {
    if (condition.op != CompareOp::kMatches) continue;
    try {
      const std::regex expression(std::get<std::string>(condition.values[0]));
    } catch (const std::regex_error& error) {
      return BadInput(fmt::format("~: {}", error.what()), "it takes a regular expression");
    }
  }
  return {};
}

}  // namespace

Dataset::Dataset() : table_(EmptyTable(FixedDatasetColumns())), columns_(table_.columns.size()) {}

std::vector<ColumnDefinition> Dataset::VisibleColumns() const {
  std::vector<ColumnDefinition> out;
  for (size_t i = 0; i < columns_.size(); ++i) {
    ColumnDefinition visible = table_.columns[i].definition;
    if (!columns_[i].newest) visible.name += fmt::format("@{}", columns_[i].version);
    out.push_back(std::move(visible));
  }
  return out;
}

// A column whose type changed is another column; rows before have null in a new one.
void Dataset::Extend(const DatasetTable& rows) {
  for (size_t i = FixedDatasetColumns().size(); i < rows.columns.size(); ++i) {
    const ColumnDefinition& wanted = rows.columns[i].definition;
    int64_t version = 1;
    bool there = false;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (table_.columns[c].definition.name != wanted.name) continue;
      there = there || (columns_[c].newest && table_.columns[c].definition.type == wanted.type);
      version = std::max(version, columns_[c].version + 1);
    }
    if (there) continue;
    for (size_t c = 0; c < columns_.size(); ++c)
      columns_[c].newest &= table_.columns[c].definition.name != wanted.name;
    TableColumn& added = table_.columns.emplace_back();
    added.definition = wanted;
    for (size_t row = 0; row < this->rows(); ++row) added.AppendNull();
    columns_.push_back({version, true, 0});
  }
}

void Dataset::KeepRows(const std::vector<size_t>& rows) {
  DatasetTable kept;
  for (const TableColumn& from : table_.columns) {
    TableColumn& to = kept.columns.emplace_back();
    to.definition = from.definition;
    for (const size_t row : rows) CopyCell(from, row, to);
  }
  std::vector<int64_t> weights;
  for (const size_t row : rows) weights.push_back(weights_[row]);
  table_ = std::move(kept);
  weights_ = std::move(weights);
}

Status Dataset::Write(const std::string& name, const DatasetTable& rows,
                      const RowReplacement& replace) {
  std::vector<std::string> ids;
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto id = ParseTraceId(rows.columns[0].texts[row]);
    if (!id.ok())
      return BadInput(fmt::format("dataset {}: a row's trace_id is not 32 hex digits", name),
                      "this is a fault of the program that wrote it");
    ids.push_back(ToHex(*id));
  }
  if (!replace.traces.empty()) {
    std::set<std::string> gone;
    for (const TraceId& id : replace.traces) gone.insert(ToHex(id));
    std::vector<size_t> kept;
    for (size_t row = 0; row < this->rows(); ++row) {
      const Nanos time = TimeOf(row);
      const bool inside = time >= replace.time.from &&
                          (time < replace.time.until || replace.time.until == INT64_MAX);
      if (!inside || gone.count(table_.columns[0].texts[row]) == 0) kept.push_back(row);
    }
    if (kept.size() < this->rows()) KeepRows(kept);
  }
  if (rows.columns.empty()) return {};
  Extend(rows);
  for (size_t c = 0; c < table_.columns.size(); ++c) {
    TableColumn& to = table_.columns[c];
    const TableColumn* from = columns_[c].newest ? ColumnNamed(rows, to.definition.name) : nullptr;
    for (size_t row = 0; row < rows.rows(); ++row) {
      if (c == 0)
        to.AppendText(ids[row]);
      else if (from != nullptr)
        AppendCell(*from, row, to);
      else
        to.AppendNull();
    }
  }
  weights_.resize(weights_.size() + rows.rows(), 1);
  return {};
}

Result<DatasetRows> Dataset::Query(const DatasetQuery& query) {
  const std::vector<ColumnDefinition> visible = VisibleColumns();
  WF_TRY(CheckQuery(visible, query));
  WF_TRY(CheckExpressions(query));
  if (query.counting == DatasetQuery::Counting::kCount) {
    for (const std::string& name : ColumnsUsed(query)) {
      for (size_t c = 0; c < visible.size(); ++c) columns_[c].queries += visible[c].name == name;
    }
  }
  // The stored table under its visible names, for as long as this takes.
  DatasetTable stored = table_;
  for (size_t c = 0; c < visible.size(); ++c) stored.columns[c].definition = visible[c];
  DatasetTable matching = EmptyTable(visible);
  std::vector<int64_t> weights;
  for (size_t row = 0; row < rows(); ++row) {
    if (!RowMatches(query.where, stored, row)) continue;
    for (size_t c = 0; c < visible.size(); ++c)
      CopyCell(stored.columns[c], row, matching.columns[c]);
    weights.push_back(weights_[row]);
  }
  if (query.grouped()) {
    const bool weighted = AsksForSampledRows(sampled_before_, query);
    RowAggregator aggregator(visible, query, weighted ? Bounds::kShow : Bounds::kNone);
    aggregator.Add(matching, weighted ? weights : std::vector<int64_t>());
    return aggregator.Finish();
  }
  DatasetQuery ordered = query;
  ordered.order.push_back({"time_ns", SortDirection::kDescending});
  DatasetRows all{std::move(matching)};
  OrderAndLimit(ordered, all);
  DatasetRows out;
  out.more = all.more;
  for (const ColumnDefinition& column : ResultColumns(visible, query))
    out.table.columns.push_back(*ColumnNamed(all.table, column.name));
  return out;
}

DatasetStatus Dataset::Read(const std::string& name) const {
  DatasetStatus status;
  status.name = name;
  status.rows = static_cast<int64_t>(rows());
  status.bytes = bytes();
  status.sampled_before = sampled_before_;
  if (rows() != 0) {
    const auto& times = table_.columns[1].numbers;
    const auto [oldest, newest] = std::minmax_element(times.begin(), times.end());
    status.oldest_ns = *oldest;
    status.newest_ns = *newest;
  }
  const std::vector<ColumnDefinition> visible = VisibleColumns();
  for (size_t c = 0; c < visible.size(); ++c)
    status.columns.push_back({visible[c], columns_[c].queries});
  return status;
}

void Dataset::Retain(const RowRetention& retention, Nanos now) {
  const Nanos oldest = retention.max_age_ns ? SaturatingSub(now, *retention.max_age_ns) : INT64_MIN;
  const Nanos sample =
      retention.subsample_after_ns ? SaturatingSub(now, *retention.subsample_after_ns) : INT64_MIN;
  const auto keep_one_in = static_cast<uint64_t>(std::max<int64_t>(1, retention.keep_one_in));
  // Which rows stay is decided by a hash of what names them: the same every time.
  const auto chosen = [&](size_t row) {
    const uint64_t trace = HashBytes(table_.columns[0].texts[row]);
    return MixBits(HashBytes(table_.columns[2].texts[row], trace)) % keep_one_in == 0;
  };
  std::vector<size_t> kept;
  bool thinned = false;
  for (size_t row = 0; row < rows(); ++row) {
    if (TimeOf(row) < oldest) continue;
    if (TimeOf(row) < sample && weights_[row] == 1) {
      thinned = true;
      if (!chosen(row)) continue;
      weights_[row] = static_cast<int64_t>(keep_one_in);
    }
    kept.push_back(row);
  }
  if (thinned) sampled_before_ = std::max(sample, sampled_before_.value_or(INT64_MIN));
  if (kept.size() < rows()) KeepRows(kept);
}

int64_t Dataset::KeepNewest(double share) {
  std::vector<size_t> kept(rows());
  std::iota(kept.begin(), kept.end(), size_t{0});
  std::stable_sort(kept.begin(), kept.end(),
                   [&](size_t a, size_t b) { return TimeOf(a) > TimeOf(b); });
  kept.resize(static_cast<size_t>(static_cast<double>(rows()) * std::clamp(share, 0.0, 1.0)));
  std::sort(kept.begin(), kept.end());
  const auto gone = static_cast<int64_t>(rows() - kept.size());
  KeepRows(kept);
  return gone;
}

int64_t Dataset::bytes() const {
  size_t total = sizeof *this + weights_.size() * sizeof(int64_t);
  for (const TableColumn& column : table_.columns) {
    total += sizeof column + column.valid.size() + column.numbers.size() * sizeof(int64_t) +
             column.doubles.size() * sizeof(double);
    for (const std::string& text : column.texts) total += sizeof text + text.size();
  }
  return static_cast<int64_t>(total);
}

}  // namespace wf::store::memory
