// A query → advice, the plain plan of Pivot Tracing §3: one advice per alias, which observes what the query
// reads through it, unpacks what is joined to it and packs all of that, or emits if it is From's. Where is
// evaluated in the advice of its query's From. rewrite.h makes the plan that carries the fewest tuples.
#pragma once

#include <string>
#include <vector>

#include "advice/program.h"
#include "base/result.h"
#include "lang/query/ast.h"

namespace wf::query {

struct Compiled {
  // Advice that packs comes before the advice that unpacks it; the last one emits. Program::query is left 0:
  // the code that installs the program sets the id.
  advice::Program program;
  std::vector<std::string> aliases;  // per advice: the alias it runs for, as explain.h shows it
};

// Sub-queries expanded into the outer query multiply; a query with more advice than this is rejected.
inline constexpr size_t kMaxAdvice = 100;
// Max instructions of one expression, after the columns of sub-queries have been expanded.
inline constexpr size_t kMaxExpressionSize = 4096;

// The approximate overhead of a query's slots in baggage: version, instance id, query id, counts and lengths.
inline constexpr size_t kBaggageFrameBytes = 22;
// … and that of one slot.
inline constexpr size_t kSlotFrameBytes = 4;

// BadInput if the query would become larger than advice may be.
Result<Compiled> Compile(const Query& query);

// What a program reads at which tracepoint: one entry per tracepoint, in the order of the advice; variables
// in order of first use.
struct TracepointReads {
  std::string tracepoint;
  std::vector<std::string> variables;  // exports and defaults
};
std::vector<TracepointReads> ReadsOf(const advice::Program& program);

}  // namespace wf::query
