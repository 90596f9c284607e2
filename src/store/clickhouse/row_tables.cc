#include "store/clickhouse/schema.h"

namespace wf::click {

const std::vector<TableSpec>& RowTables() {
  static const std::vector<TableSpec> tables = {};
  return tables;
}

}  // namespace wf::click
