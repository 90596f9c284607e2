// An explanation as Graphviz text: every vertex and edge of the view, the end on top, width by time; causes solid,
// sequencing dashed.
#pragma once

#include <string>

#include "answer/explain/explain_graph.h"

namespace wf::answer {

std::string ExplainDot(const ExplainGraph& graph);

}  // namespace wf::answer
