// Causal paths as Graphviz text (figures 8 and 9 of Aguilera et al.).
#pragma once

#include <string>

#include "answer/paths/paths_drawing.h"

namespace wf::answer {

std::string PathsDot(const PathsDrawing& drawing);

}  // namespace wf::answer
