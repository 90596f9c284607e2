// Conditions and lists of columns as people type them: conditions of the languages' common grammar joined by
// `and`, lists of columns, aggregates. A fault is an error with the text, a caret and a hint in its message.
//
//   conditions = condition { "and" condition } ;
//   condition  = [ "not" ] key ( compare literal | "in" "(" literal { "," literal } ")" | "exists" ) ;
//   keys       = key { "," key } ;             key = NAME { "." NAME } | STRING ;
//   aggregates = aggregate { "," aggregate } ;
//   aggregate  = "count" | ( "count" | "sum" | "mean" | "min" | "max" | "distinct" | "p" NUMBER ) "(" key ")" ;
//
// A number with a unit is in nanoseconds or bytes. Thread safety: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/dataset_query.h"

namespace wf::lang {

// `name` is printed before the text in errors: "--where".
Result<std::vector<ColumnCondition>> ParseConditions(std::string_view text,
                                                     const std::string& name);
Result<std::vector<std::string>> ParseKeys(std::string_view text, const std::string& name);
// Names are as written, without spaces: "p95(latency_ns)".
Result<std::vector<Aggregate>> ParseAggregates(std::string_view text, const std::string& name);
// "latency desc", "p95(latency_ns)": an aggregate or a column, and a direction (ascending).
Result<RowOrder> ParseOrder(std::string_view text, const std::string& name);

}  // namespace wf::lang
