// DuckDB alone, in memory, on one thread: what others are compared with. Used by bench/ only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace wf::store::duckdb {

class BareQuery {
 public:
  static Result<std::unique_ptr<BareQuery>> Open();
  ~BareQuery();

  Status Run(const std::string& sql);
  // The rows of a query whose columns are all BIGINT and never null.
  Result<std::vector<std::vector<int64_t>>> Integers(const std::string& sql);

 private:
  struct Impl;
  explicit BareQuery(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::store::duckdb
