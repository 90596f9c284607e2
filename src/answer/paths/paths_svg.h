// Causal paths as a picture that needs nothing else: no script, no font, no other file; light or dark as the reader
// prefers (figures 8 and 9 of Aguilera et al.).
#pragma once

#include <string>

#include "answer/paths/paths_drawing.h"

namespace wf::answer {

std::string PathsSvg(const PathsDrawing& drawing);

}  // namespace wf::answer
