// Explanations of several requests as one: what they have in common stands once, with the time of all.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"

namespace wf::answer {

// What makes two vertices of two requests the same: type, node, tuple name, origin; of a request's own path also which
// of those alike it is.
using ExplanationKey = std::tuple<ProvenanceType, std::string, std::string, std::string, bool, int>;
std::vector<ExplanationKey> KeysOf(const provenance::Execution& execution,
                                   const provenance::Explanation& explanation);

struct MergedExplanations {
  provenance::Explanation explanation;
  std::vector<ExplanationKey> keys;  // of its vertices: what they are in each of the requests
};

// Of one execution; at least one. Times add up; `from` and `root` are those of the first.
MergedExplanations MergeExplanations(const provenance::Execution& execution,
                                     const std::vector<provenance::Explanation>& explanations);

}  // namespace wf::answer
