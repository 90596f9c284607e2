// SQL that somebody typed, run where it can reach nothing but the rows it names. The rows are copied into a file of
// their own; a child process (this program again, with the hidden verb kSqlVerb) opens that file read-only in a DuckDB
// instance of its own, turns external access off, locks the configuration, and only then sees the text. The child may
// write no file, has an empty environment, kSqlMemoryBytes of memory and kSqlTime; then it is killed.
//
// What would be weaker: a read-only connection in the server (it shares memory and threads, and every DuckDB setting
// that is forgotten is a hole), or a filter on the text (SQL has too many ways to name a file).
#pragma once

#include <string>

#include "base/result.h"
#include "store/store.h"

namespace wf::store::duckdb {

constexpr char kSqlVerb[] = "__sql";
constexpr Nanos kSqlTime = 30 * kSecond;
constexpr int64_t kSqlMemoryBytes = int64_t{1} << 30;
constexpr size_t kSqlRows = 100'000;  // of an answer; more are cut off, and it says so

// A name for a file that is deleted with this object.
class SqlScratch {
 public:
  explicit SqlScratch(const std::string& folder);
  ~SqlScratch();
  SqlScratch(const SqlScratch&) = delete;
  SqlScratch& operator=(const SqlScratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// `program`: this program's file; empty: /proc/self/exe. A bad statement is kBadInput with the engine's words; one that
// took too long or too much is kEnvironment.
Result<SqlRows> RunSandboxedSql(const std::string& program, const std::string& file,
                                const std::string& sql);

// The child: argv[2] is the file, the statement comes by standard input. Returns its exit code.
int SqlSandboxMain(int argc, char** argv);

}  // namespace wf::store::duckdb
