// The tests' own main: RunSql starts this program again as its child (sql_sandbox.h).
#include <gtest/gtest.h>

#include <cstring>

#include "store/duckdb/sql_sandbox.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], wf::store::duckdb::kSqlVerb) == 0)
    return wf::store::duckdb::SqlSandboxMain(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
