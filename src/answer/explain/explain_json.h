// An explanation as JSON, in the form that docs/concepts/temporal-provenance.md describes.
#pragma once

#include <functional>
#include <string>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"

namespace wf {
class JsonWriter;
}

namespace wf::answer {}

namespace wf::answer {}

namespace wf::answer {

// What an answer about stored traces says besides.
struct ExplanationJsonExtras {
  enum class Sizes { kShown, kLeftOut } sizes = Sizes::kShown;
  // Further members of a vertex; may be empty.
  std::function<void(size_t vertex, JsonWriter&)> vertex;
  std::function<void(JsonWriter&)> answer;  // of the whole; may be empty
};

// `view` is the one the explanation was made for: edges of the raw graph carry no delay.
std::string ExplanationJson(const provenance::Execution& execution,
                            const provenance::Explanation& explanation,
                            provenance::ExplanationView view,
                            const ExplanationJsonExtras& extras = {});

}  // namespace wf::answer
