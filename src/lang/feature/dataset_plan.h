// DatasetPlan: a dataset's filter, rows and columns, written in the feature language (Canopy §4.4, figure 8), compiled
// once and then run over any number of traces. A plan cannot loop for ever nor take unbounded memory.
// Thread safety: a compiled plan is immutable; any number of threads may extract with it.
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

namespace wf {

// The texts of a dataset. Absent: filter `true`, row `Trace`.
struct DatasetText {
  std::string filter, row, columns;
  std::vector<std::string> include;  // column programs of other datasets, already looked up
};

// The text that `use "NAME"` stands for; nullopt when there is none of that name.
using FeatureLibrary = std::function<std::optional<std::string>(std::string_view name)>;

class DatasetPlan {
 public:
  struct Compiled;  // either a plan, or what is wrong with which of the texts
  static Compiled Compile(const DatasetText& text, const FeatureLibrary& library);

  // The dataset's own columns, without FixedDatasetColumns.
  const std::vector<ColumnDefinition>& columns() const;

  // Appends the trace's rows to `table`, whose columns are FixedDatasetColumns followed by columns(). A trace that is
  // not usable() or that the filter rejects gives none.
  void Extract(const Trace& trace, DatasetTable& table) const;

  // An empty table with the right columns.
  DatasetTable NewTable() const;

 private:
  struct Plan;
  explicit DatasetPlan(std::shared_ptr<const Plan> plan);
  std::shared_ptr<const Plan> plan_;
};

// `part`: "filter", "row", "columns" or the name of an included or used text.
struct DatasetDiagnostic {
  std::string part;
  Diagnostic diagnostic;
};

struct DatasetPlan::Compiled {
  std::optional<DatasetPlan> plan;  // set when there are no diagnostics
  std::vector<DatasetDiagnostic> diagnostics;
};

}  // namespace wf
