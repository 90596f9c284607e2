// A query without Join, sub-queries included: every event is answered separately, whatever happened before
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lang/query/row_builder.h"

namespace wf::query {

class LocalQuery {
 public:
  static bool Possible(const Query& query);
  // Both borrowed; Possible; `rows` of this query.
  LocalQuery(const Query& query, RowBuilder& rows);

  // What the innermost From reads: tracepoints and variables.
  const std::vector<std::string>& tracepoints() const { return from_->source.tracepoints; }
  const std::vector<std::string>& variables() const { return from_->columns; }

  // One event of these tracepoints, as the values of the variables.
  void Add(int64_t time, const advice::Tuple& values);

 private:
  const Alias* from_ = nullptr;
  std::vector<RowBuilder> inner_;  // for the sub-queries, the innermost first
  RowBuilder& rows_;
};

}  // namespace wf::query
