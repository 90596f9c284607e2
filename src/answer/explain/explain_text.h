// An explanation for a terminal: the sentence, then the way the time took, at most 100 columns wide.
#pragma once

#include <string>

#include "answer/explain/explain_graph.h"

namespace wf::answer {

std::string ExplainText(const ExplainGraph& graph);

}  // namespace wf::answer
