// Queries joined by happened-before, over a file of events or over stored traces: rows out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advice/expression.h"
#include "answer/frame/answer.h"
#include "lang/query/rows_json.h"

namespace wf::answer {

// A query over stored traces, or (explain=true) what it would do anywhere.
Result<Answer> AnswerQuery(const AnswerContext& context, const Question& question);

struct QueryRows {
  std::vector<std::string> columns;
  std::vector<advice::Tuple> rows;
  query::Cost cost;
  uint64_t events = 0, unknown_after = 0;  // of the input
  // Of stored traces: how many were read whole and modeled, and edges of theirs that went in a circle.
  std::optional<uint64_t> traces_modeled;
  uint64_t dropped_edges = 0;
};

// {"columns","rows","cost","input"}; of stored traces "input" also says how many traces were modeled.
std::string QueryRowsJson(const QueryRows& answer);
// A table for a terminal.
std::string QueryRowsText(const QueryRows& answer);

}  // namespace wf::answer
