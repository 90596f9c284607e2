// An explanation as a picture that needs nothing else: no script, no font, no other file; light or dark as the reader
// prefers. The end on top, causes below, width by time; sequencing dashed and named.
#pragma once

#include <string>

#include "answer/explain/explain_graph.h"

namespace wf::answer {

std::string ExplainSvg(const ExplainGraph& graph);

}  // namespace wf::answer
