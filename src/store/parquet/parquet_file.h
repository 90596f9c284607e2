// ParquetFile: rows of texts and integers into one Parquet file (zstd), by way of a temporary DuckDB file beside it,
// so that memory stays bounded whatever the number of rows. The file appears under its name when Finish succeeds.
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace wf::store::parquet {

struct ParquetColumn {
  enum class Type { kText, kInt64 } type = Type::kText;
  std::string name;
};

// Values of some rows: for each column the vector of its type is filled, the other stays empty.
struct ParquetRows {
  std::vector<std::vector<std::string>> texts;
  std::vector<std::vector<int64_t>> integers;
  size_t rows = 0;
};

class ParquetFile {
 public:
  static Result<std::unique_ptr<ParquetFile>> Open(const std::string& path,
                                                   std::vector<ParquetColumn> columns);
  ~ParquetFile();  // without Finish nothing is left behind
  Status Add(const ParquetRows& rows);
  Status Finish();

 private:
  ParquetFile();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wf::store::parquet
