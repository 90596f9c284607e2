// What DuckDB alone costs, for comparison: 19 plain columns (trace id halves, span id, parent id, start, duration,
// kind, status, service, name, instance, eight attributes) in arrival order. Used by bench/ only.
#pragma once

#include <string>

#include "base/result.h"
#include "store/row_order.h"

namespace wf::store::duckdb {

Status BareInsert(const std::string& path, const BatchList& batches);

}  // namespace wf::store::duckdb
