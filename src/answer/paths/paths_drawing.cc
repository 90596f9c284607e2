#include "answer/paths/paths_drawing.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer/frame/text_table.h"

namespace wf::answer {

PathsDrawing DrawConvolution(const paths::ConvolutionResult& result, const StringTable& nodes) {
  PathsDrawing drawing;
  drawing.title =
      fmt::format("Paths of {} by convolution, quantum {}", CountOf(result.messages, "message"),
                  FormatDuration(result.quantum_ns));
  drawing.foot =
      "Arrows: delays at the sending node, most frequent first, and number of messages. Width "
      "shows messages.";
  for (const NodeId node : result.vertices) {
    drawing.nodes.emplace_back();
    drawing.nodes.back().name = std::string(nodes.At(node));
  }
  uint64_t most = 1;
  for (const paths::ConvolutionEdge& edge : result.edges) most = std::max(most, edge.count);
  for (const paths::ConvolutionEdge& edge : result.edges) {
    DrawnArrow arrow;
    arrow.from = edge.from;
    arrow.to = edge.to;
    std::string delays;
    for (const paths::ConvolutionDelay& delay : edge.delays)
      delays += (delays.empty() ? "" : ", ") + FormatDuration(delay.delay_ns);
    if (!delays.empty()) arrow.labels.push_back(std::move(delays));
    arrow.labels.push_back(fmt::format("{}×", edge.count));
    arrow.weight = static_cast<double>(edge.count) / static_cast<double>(most);
    drawing.arrows.push_back(std::move(arrow));
  }
  return drawing;
}

}  // namespace wf::answer
