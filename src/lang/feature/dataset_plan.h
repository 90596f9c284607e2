// DatasetPlan: a dataset's filter, rows and columns, written in the feature language (Canopy §4.4, figure 8),
// compiled once and then run over any number of traces. A plan can neither loop forever nor use unbounded
// memory. Thread safety: a compiled plan is immutable; any number of threads may extract with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/common/diagnostic.h"
#include "model/dataset_table.h"
#include "model/trace.h"

namespace wf::feature {

// The texts of a dataset. Absent: filter `true`, row `Trace`.
struct DatasetText {
  std::string filter, row, columns;
  std::vector<std::string> include;  // column programs of other datasets, already looked up
};

// The text that `use "NAME"` stands for; nullopt if there is no such name.
using FeatureLibrary = std::function<std::optional<std::string>(std::string_view name)>;

// What Extract did with a trace, and what it left out.
struct ExtractOutcome {
  enum class Kind : uint8_t {
    kExtracted,
    kFiltered,    // the filter is false or null
    kUnusable,    // the trace violates an invariant
    kOverBudget,  // counted as "features_over_budget": no rows of this trace
  } kind = Kind::kExtracted;
  size_t rows = 0;
  size_t rows_dropped = 0;  // beyond kMaxRowsPerTrace, counted as "feature_rows_dropped"
  int64_t cost = 0;         // entries made and steps walked, counted against the budget
};

constexpr size_t kMaxRowsPerTrace = 100'000;
// The number of entries (of 4 to 17 bytes) that evaluating one trace may make: a base, plus a number per
// element. A feature needs a few per element; only products of two sequences come near the limit.
constexpr int64_t kBudgetPerTrace = 4'000'000;
constexpr int64_t kBudgetPerElement = 20;

class DatasetPlan {
 public:
  struct Compiled;  // a plan, or the errors of each text
  static Compiled Compile(const DatasetText& text, const FeatureLibrary& library);

  // The dataset's own columns, without FixedDatasetColumns.
  const std::vector<ColumnDefinition>& columns() const;

  // Appends the trace's rows to `table`, whose columns are FixedDatasetColumns followed by columns(). A trace
  // that is not usable() or that the filter rejects gives none; nor does one that exceeds the budget
  // (kBudgetPerTrace). The outcome says what was left out, to be counted under its name.
  ExtractOutcome Extract(const Trace& trace, DatasetTable& table) const;

  // Whether Extract may give rows or report a loss: evaluates only the filter, for callers that need a cheap
  // decision.
  bool Wants(const Trace& trace) const;

  // An empty table with the right columns.
  DatasetTable NewTable() const;

  // The number of operators that one trace runs through, after equal ones were merged.
  size_t operators() const;

 private:
  struct Plan;
  explicit DatasetPlan(std::shared_ptr<const Plan> plan);
  std::shared_ptr<const Plan> plan_;
};

// `part`: "filter", "row", "columns" or the name of an included or used text.
struct DatasetDiagnostic {
  std::string part;
  lang::Diagnostic diagnostic;
};

struct DatasetPlan::Compiled {
  std::optional<DatasetPlan> plan;  // set when there are no diagnostics
  std::vector<DatasetDiagnostic> diagnostics;
};

}  // namespace wf::feature
