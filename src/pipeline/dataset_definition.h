// DatasetDefinition: what a dataset is, as its owner wrote it in YAML (Canopy §4.2 "dataset configs"):
//
//   dataset: page_loads          its name
//   owner: web                   whose share of CPU time it uses (default)
//   filter: Trace | …            which traces; a Bool pipeline of the feature language (true)
//   row: Trace                   one row a trace; or a pipeline of elements or groups
//   columns: |                   a feature program; each RecordAs is a column
//     …
//   include: [traces]            datasets whose columns it has too
//   output: {table: true, parquet: false}
//   retention: 90d               or {age: 90d, subsample: 30d, keep: 1/10}
//
// Thread safety: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lang/feature/dataset_plan.h"
#include "store/store.h"

namespace wf::pipeline {

struct DatasetDefinition {
  std::string name;
  std::string owner = "default";
  std::string filter, row, columns;
  std::vector<std::string> include;
  bool table = true;  // rows are stored for questions
  // And written to Parquet files, one an hour, in the store's folder parquet/NAME.
  bool parquet = false;
  store::RowRetention retention;

  std::string source;                                   // the YAML
  bool standing = false;                                // comes with the program
  int filter_line = 1, row_line = 1, columns_line = 1;  // where the texts begin in the YAML
};

constexpr Nanos kDefaultRowAge = 90 * kDay;

// `name` is the file's name, for errors.
Result<DatasetDefinition> ParseDataset(std::string_view yaml, const std::string& name);

// Letters, digits, _ - and dots, at most 100; begins with a letter or _.
Status CheckDatasetName(const std::string& name);

}  // namespace wf::pipeline
