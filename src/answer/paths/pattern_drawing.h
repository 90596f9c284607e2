// Path patterns as boxes and arrows (figure 8 of Aguilera et al.).
#pragma once

#include "answer/paths/paths_answer.h"
#include "answer/paths/paths_drawing.h"

namespace wf::answer {

// Each pattern a tree from its client: on the first arrow the count and the latency of all paths, in a node its mean
// latency, on an arrow the mean delay from the parent's call. A link that matters is a node of its own (§2).
PathsDrawing DrawPatterns(const PathsAnswer& answer);

}  // namespace wf::answer
