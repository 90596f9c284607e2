// SQL that somebody typed, made safe to run in ClickHouse: one SELECT that can reach nothing but the datasets it names.
//
// ClickHouse 18.16 has no way to shut a statement in: rights are per user in a file, and a statement may name any
// database, any table function and any file. So the text is read here, token by token, and only what is known to be
// harmless passes; everything that names a table is replaced by a subquery over rows of the tenant. Then the server is
// asked in a database that is empty, read-only, with limits of time, memory and rows: what slips through finds nothing
// and may change nothing. The rules, each of which alone would not do:
//
//   - one statement, SELECT or WITH; no INTO, FORMAT, SETTINGS, EXPLAIN, PARALLEL, …
//   - after FROM, JOIN, and a comma between tables: a subquery, a dataset, or a name that WITH gave; never db.table,
//     never a function
//   - after IN: a list of values, or a subquery, because a name there is a table
//   - a name before a bracket is a function, and must be in the list of those that only compute (sql_functions.cc)
//   - outside of quotes nothing but ASCII; no $, @, {, }, \: heredocs, parameters and what may come
//   - what is passed on is made of the tokens read, without comments
//
// A filter on the text is weaker than a wall: docs/concepts/clickhouse-datasets.md says how to add one, a user of its own for SQL.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::store::clickhouse {

// The subquery that stands for a dataset, without brackets; nothing when there is no such dataset.
using FindDataset = std::function<std::optional<std::string>(const std::string& name)>;

struct GuardedSql {
  std::string text;                   // to be run
  std::vector<std::string> datasets;  // that it reads, as they were named
  std::vector<std::string> names;     // every word and quoted name: among them its columns
};

// kBadInput, with the place (counted from 1) and what to write instead.
Result<GuardedSql> GuardSql(std::string_view sql, const FindDataset& find);

// Whether a function only computes something from its arguments; by its name in any case.
bool IsHarmlessFunction(std::string_view name);

}  // namespace wf::store::clickhouse
