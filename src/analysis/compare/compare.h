// Which columns explain the difference between two populations of a dataset's rows: before and after, two variants, a
// selection and the rest (Canopy §2.1, §5.4).
//
// Three tests are run on the columns, and their results are ranked together:
//   shift   of a number: do its values differ? Mann–Whitney, effect Cliff's delta
//   mix     of a category: do its shares differ? χ², effect Cramér's V with the sign of the value whose share moved most
//   within  of a category's value, when a metric is given: does the metric differ among the rows with that value?
//           Mann–Whitney on the metric. It separates the page piece, or country, that got slower from the others
// The p-values of all tests together are held to a false-discovery rate by Benjamini and Hochberg.
// Differences are ranked by effect size, because with many rows everything is significant.
//
// Thread safety: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/dataset_table.h"

namespace wf::compare {

constexpr double kFalseDiscoveryRate = 0.05;

enum class CompareQuestion : uint8_t { kShift, kMix, kWithin };
std::string_view CompareQuestionName(CompareQuestion question);

struct ColumnDifference {
  std::string column;
  std::string value;  // of kMix and kWithin, as text
  CompareQuestion question = CompareQuestion::kShift;
  double effect = 0;  // above 0: more in b
  double p = 1, q = 1;
  double a = 0, b = 0;  // what is compared: means; of kMix the value's share
};

struct CompareOptions {
  std::string metric;  // "": none
  // Columns that selected the populations: they explain nothing.
  std::vector<std::string> excluded;
};

struct Comparison {
  ColumnDifference metric;  // kShift of the metric itself, when there is one; not in q's family
  // All tests, ranked: significant ones first, then by |effect|.
  std::vector<ColumnDifference> differences;
  size_t significant = 0;  // the first `significant` differences have q <= kFalseDiscoveryRate
};

// Both tables have the same columns. trace_id and time_ns name rows and take no part.
Comparison ComparePopulations(const DatasetTable& a, const DatasetTable& b,
                              const CompareOptions& options);

}  // namespace wf::compare
