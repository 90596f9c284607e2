// Causal paths as boxes and arrows with their labels, whatever they were found by: what paths_dot.h and paths_svg.h draw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/paths/convolution.h"

namespace wf::answer {

struct DrawnNode {
  std::string name;
  std::string note;     // below the name; may be empty
  bool marked = false;  // the one that adds most
};

struct DrawnArrow {
  uint32_t from = 0, to = 0;
  std::vector<std::string> labels;  // lines
  double weight = 1;                // drawn the wider; the widest of a drawing counts as 1
};

struct PathsDrawing {
  std::string title;
  std::vector<DrawnNode> nodes;
  std::vector<DrawnArrow> arrows;
  std::string foot;  // what the labels are
};

// Figure 9 of Aguilera et al.: on each arrow the delays at the node it leaves, by falling frequency, and the count.
PathsDrawing DrawConvolution(const paths::ConvolutionResult& result, const StringTable& nodes);

}  // namespace wf::answer
