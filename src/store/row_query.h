// What a DatasetQuery means, in plain code: names and types are checked here for every engine, so that each refuses the
// same with the same words; and rows are matched, grouped and aggregated here where an engine does not, as when old
// rows were subsampled and stand for several (their weight).
//
// Weighted aggregates are Horvitz–Thompson estimates: each kept row counts `weight` times. Kept rows were chosen
// independently of each other with probability 1/weight, so the variance of a weighted sum of x is Σ w(w-1)x², and rows
// of weight 1 add none. Bounds are the estimate ± 1.96 deviations; those of a percentile are the percentiles at p ± 1.96
// deviations of the estimated distribution function there (Woodruff's method).
//
// Thread safety: functions are pure; an aggregator belongs to one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/dataset_query.h"

namespace wf::store {

// The definition of a column by name; an error that suggests the nearest name when there is none.
Result<ColumnDefinition> FindColumn(const std::vector<ColumnDefinition>& columns,
                                    const std::string& name);

// Fails when rows to be written lack a fixed column, or a column lacks a row.
Status CheckDatasetTable(const std::string& dataset, const DatasetTable& rows);

// Fails on a column that is not there, and on a comparison or an aggregate that its type does not have.
Status CheckQuery(const std::vector<ColumnDefinition>& columns, const DatasetQuery& query);

// Every column the query names, once, in order of mention.
std::vector<std::string> ColumnsUsed(const DatasetQuery& query);

// The result's columns, without bounds. The query must have passed CheckQuery.
std::vector<ColumnDefinition> ResultColumns(const std::vector<ColumnDefinition>& columns,
                                            const DatasetQuery& query);

// Rows [0, n) of a table that fulfil all conditions.
bool RowMatches(const std::vector<ColumnCondition>& where, const DatasetTable& table, size_t row);

const TableColumn* ColumnNamed(const DatasetTable& table, std::string_view name);
// Copies one cell; both columns have the same type.
void CopyCell(const TableColumn& from, size_t row, TableColumn& to);

// Can rows take part that were subsampled, those before `sampled_before`? Only a lower bound of time_ns excludes them.
bool AsksForSampledRows(std::optional<Nanos> sampled_before, const DatasetQuery& query);

// t rounded down to a multiple of the bucket.
Nanos BucketStart(Nanos t, Nanos bucket);

enum class Bounds : uint8_t { kNone, kShow };

// What the answer of a count, a sum or a mean is made of: sums over rows that have a value x and stand for w rows.
struct WeightedSums {
  double rows = 0;                              // kept ones
  double weight = 0, total = 0;                 // Σw, Σwx
  int64_t exact_total = 0;                      // Σx of integers, as long as every weight is 1
  double slack = 0, slack_x = 0, slack_xx = 0;  // Σw(w-1), Σw(w-1)x, Σw(w-1)x²
  bool all_whole = true;                        // every weight was 1
};
// The estimate, and its bounds if they are shown, each to the next column of the table.
void AppendEstimate(const Aggregate& aggregate, const WeightedSums& sums, Bounds bounds,
                    DatasetTable& out, size_t& column);
// A grouped question's result without rows: ResultColumns, with NAME_low and NAME_high behind what has bounds.
DatasetTable EmptyResult(const std::vector<ColumnDefinition>& columns, const DatasetQuery& query,
                         Bounds bounds);

// Groups and aggregates rows that match already. Tables given have at least the columns that the query names.
class RowAggregator {
 public:
  RowAggregator(const std::vector<ColumnDefinition>& columns, const DatasetQuery& query,
                Bounds bounds);
  // weights: one a row; empty: all 1.
  void Add(const DatasetTable& rows, const std::vector<int64_t>& weights);
  DatasetRows Finish() const;

 private:
  // A value of a group's key; nulls sort last.
  struct Cell {
    bool null = false;
    int64_t number = 0;
    double real = 0;
    std::string text;
    bool operator<(const Cell& o) const;
  };
  struct Weighted {
    double value;
    double weight;
  };
  struct Sums : WeightedSums {
    Cell least, greatest;
    bool any = false;
    std::vector<Weighted> values;       // for percentiles
    std::vector<int64_t> whole_values;  // the same of integers: a double cannot hold them all
    std::map<Cell, bool> distinct;
  };
  using Group = std::vector<Sums>;  // one an aggregate

  static Cell CellOf(const TableColumn& column, size_t row);
  static void AppendCell(const Cell& cell, TableColumn& to);
  void AppendAggregate(size_t i, const Sums& sums, DatasetTable& out, size_t& column) const;
  void AppendPercentile(size_t i, const Sums& sums, DatasetTable& out, size_t& column) const;

  const std::vector<ColumnDefinition> columns_;
  const DatasetQuery query_;
  const Bounds bounds_;
  std::map<std::vector<Cell>, Group> groups_;
};

// Orders by the query's order and cuts at its limit: of results, not of plain rows.
void OrderAndLimit(const DatasetQuery& query, DatasetRows& rows);

// Doubles added in any order differ in their last digits; an answer must not.
double SteadyDouble(double value);

}  // namespace wf::store
