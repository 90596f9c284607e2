// A description of a query for people: its advice before and after rewriting, in the words of Pivot Tracing
// table 2, and an estimate of the baggage of a request.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lang/query/compile.h"

namespace wf::query {

struct ExplainedAdvice {
  std::string name;  // A1, A2, …: advice that packs comes before the one that unpacks it
  std::string alias;
  std::vector<std::string> tracepoints;
  std::vector<std::string> steps;  // "OBSERVE delta", "UNPACK procName", …
};

// One slot of the query's baggage, with values of typical size: strings of 16 bytes, numbers of six digits.
struct ExplainedSlot {
  std::string advice;  // the advice that packs it
  size_t tuples = 1;   // for the estimate: the known number of the slot's tuples, or one
  // false: one per different combination of its columns, so the request decides how many.
  bool bounded = true;
  size_t bytes = 0;
  size_t bytes_per_tuple = 0;  // of one more tuple
};

struct ExplainedPlan {
  std::vector<ExplainedAdvice> advice;
  std::vector<ExplainedSlot> slots;
  // For a request that packed in every slot; all 0 if nothing is packed.
  size_t tuples = 0;
  size_t bytes = 0;
};

struct Explanation {
  ExplainedPlan before, after;
  std::vector<std::string> notes;
};

Result<Explanation> Explain(const Query& query);
ExplainedPlan ExplainPlan(const Compiled& compiled);

std::string ExplanationText(const Explanation& explanation);
// {"before":{"advice":[{"name","alias","at":[…],"steps":[…]}],"baggage":{"tuples","bytes","bounded","slots":[{"advice",
// "tuples","bounded","bytes","bytes_per_tuple"}]}},"after":{…},"notes":[…]}
std::string ExplanationJson(const Explanation& explanation);

}  // namespace wf::query
