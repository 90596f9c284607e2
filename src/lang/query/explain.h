// What a query will do, for a person: its advice before and after rewriting, in the words of Pivot Tracing table 2,
// and about how much baggage a request will carry.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lang/query/compile.h"

namespace wf::query {

struct ExplainedAdvice {
  std::string name;  // A1, A2, …: what packs comes before what unpacks it
  std::string alias;
  std::vector<std::string> tracepoints;
  std::vector<std::string> steps;  // "OBSERVE delta", "UNPACK procName", …
};

// One slot of the query's baggage, with values of usual size: strings of 16 bytes, numbers of six digits.
struct ExplainedSlot {
  std::string advice;  // who packs it
  size_t tuples = 1;   // for the estimate: as many as the slot is known to hold, or one
  bool bounded =
      true;  // false: one per different combination of its columns, as many as the request makes
  size_t bytes = 0;
  size_t bytes_per_tuple = 0;  // of a further one
};

struct ExplainedPlan {
  std::vector<ExplainedAdvice> advice;
  std::vector<ExplainedSlot> slots;
  // Of a request that packed in every slot; all 0 if nothing is packed.
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
