// A DatasetTable as a Parquet file: columns with their names, types and nulls. The file appears whole.
#pragma once

#include <string>

#include "base/result.h"
#include "model/dataset_table.h"

namespace wf::store::parquet {

Status WriteParquetRows(const DatasetTable& table, const std::string& path);

}  // namespace wf::store::parquet
