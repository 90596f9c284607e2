// DatasetQuery: a question about a dataset's rows: filter, group, aggregate, order (Canopy §4.5). Plain values; answers
// write them from flags, stores answer them. Column names are data here and never reach an engine as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/nanos.h"
#include "model/dataset_table.h"

namespace wf {

enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kMatches, kIn, kExists };
constexpr std::string_view CompareOpText(CompareOp op) {
  constexpr std::string_view texts[] = {"=", "!=", "<", "<=", ">", ">=", "~", "in", "exists"};
  return texts[static_cast<size_t>(op)];
}

using ColumnLiteral = std::variant<bool, int64_t, double, std::string>;

// One condition on a column. As everywhere a null makes it neither true nor false, so the row does not match, negated or
// not; only `exists` sees nulls. kMatches: the text contains a match of the regular expression (RE2's syntax).
struct ColumnCondition {
  std::string column;
  CompareOp op = CompareOp::kEq;
  bool negated = false;
  std::vector<ColumnLiteral> values;  // one; kIn: one or more; kExists: none
};

enum class AggregateKind : uint8_t { kCount, kSum, kMean, kMin, kMax, kPercentile, kDistinct };

// An aggregate ignores nulls; of no value at all it is null, but count, sum and distinct are 0. Percentile: by nearest
// rank, the smallest value with at least that share of all at or below it.
struct Aggregate {
  AggregateKind kind = AggregateKind::kCount;
  std::string column;     // kCount: empty
  double percentile = 0;  // of kPercentile: 0 < percentile <= 100
  std::string name;       // of the result's column: "p95(latency_ns)"
};

enum class SortDirection : uint8_t { kAscending, kDescending };
struct RowOrder {
  std::string column;  // of the result
  SortDirection direction = SortDirection::kAscending;
};

// With aggregates or groups the result has one row a group: time_ns (when there is a bucket), the group's columns, the
// aggregates. Otherwise it has the rows themselves.
struct DatasetQuery {
  std::vector<ColumnCondition> where;  // all hold
  std::optional<Nanos> bucket_ns;  // > 0: groups also by time_ns rounded down to a multiple of it
  std::vector<std::string> group_by;
  std::vector<Aggregate> aggregates;
  std::vector<std::string> columns;  // of plain rows; empty: all, fixed ones first
  // Nulls are last. Ties are broken by the remaining columns, left to right and ascending; those of plain rows by
  // newest first, then trace_id and row_key: so an answer is always the same.
  std::vector<RowOrder> order;
  size_t limit = 1000;
  // Whether the columns named here count as used: questions of people do, those of the program itself do not.
  enum class Counting : uint8_t { kCount, kDoNotCount } counting = Counting::kCount;

  bool grouped() const { return !aggregates.empty() || !group_by.empty() || bucket_ns.has_value(); }
};

// The answer. Where old rows were subsampled, aggregates are estimates for all rows that there were, and every count,
// sum, mean and percentile NAME is followed by NAME_low and NAME_high, its 95% bounds; distinct, min and max are of the
// rows kept.
struct DatasetRows {
  DatasetTable table;
  bool more = false;       // the limit cut something off
  bool estimated = false;  // subsampled rows took part
};

// The type of an aggregate's result column.
ColumnType AggregateType(AggregateKind kind, ColumnType of);

// 95% of a normal distribution lies within this many standard deviations.
constexpr double kBoundDeviations = 1.959964;

}  // namespace wf
