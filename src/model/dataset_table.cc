#include "model/dataset_table.h"

namespace wf {

const std::vector<ColumnDefinition>& FixedDatasetColumns() {
  static const std::vector<ColumnDefinition> columns = {{"trace_id", ColumnType::kText},
                                                        {"time_ns", ColumnType::kInt},
                                                        {"row_key", ColumnType::kText},
                                                        {"complete", ColumnType::kBool}};
  return columns;
}

}  // namespace wf
