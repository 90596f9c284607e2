// What the engine alone takes for a question about rows, for comparison: a plain table with the columns under their own
// names, default settings. Used by bench/ only.
#pragma once

#include <memory>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "model/dataset_table.h"

namespace wf::store::duckdb {

class BareRows {
 public:
  static Result<std::unique_ptr<BareRows>> Open(const std::string& path);
  ~BareRows();
  Status Add(const DatasetTable& rows);
  Status Settle();  // checkpoints
  // Runs it, reads all of the result; the table is called t.
  Result<Nanos> Time(const std::string& sql);

 private:
  BareRows();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wf::store::duckdb
