// An explanation as JSON, in the form that docs/EXPLAIN.md describes.
#pragma once

#include <string>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"

namespace wf {

// `view` is the one the explanation was made for: edges of the raw graph carry no delay.
std::string ExplanationJson(const Execution& execution, const Explanation& explanation,
                            ExplanationView view);

}  // namespace wf
