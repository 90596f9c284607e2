// A query over stored traces.
//
// Without a Join every event is answered by itself: a scan of the columns that the query reads, no trace is built. With
// one, a first scan finds the traces that hold an event of every source; only these are read whole, modeled and
// evaluated, one by one. Traces whose events are not whole spans (libwherefore's own, or spans without an end) are
// modeled in either case, because only the model knows when they began and ended.
#pragma once

#include <string>

#include "answer/query/query_answer.h"
#include "lang/query/ast.h"
#include "store/store.h"

namespace wf::answer {

// `from`: when the From events happened, by the recorded clock; joined ones may be older.
Result<QueryRows> RunStoredQuery(store::Store& store, const std::string& tenant,
                                 const query::Query& query, store::TimeRange from);

}  // namespace wf::answer
