#include "answer/paths/pattern_drawing.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer/frame/text_table.h"

namespace wf::answer {
namespace {

class PatternDrawer {
 public:
  PatternDrawer(const PathsAnswer& answer, PathsDrawing& drawing)
      : answer_(answer), drawing_(drawing) {}

  void Draw(const paths::Pattern& pattern, double weight) {
    weight_ = weight;
    slowest_ = SlowestNode(pattern);
    const uint32_t client = AddBox(NameOf(pattern.client), "", false);
    const uint32_t root =
        AddNode(pattern, 0, client,
                {CountOf(pattern.count, "path"),
                 FormatDuration(paths::HeldToNanos(pattern.total_latency)) + " total"});
    // Breadth first, so that what a picture has no room for is the deepest.
    std::vector<std::pair<uint32_t, uint32_t>> queue = {{0, root}};  // node, box
    for (size_t i = 0; i < queue.size(); ++i) {
      const auto [node, box] = queue[i];
      for (const uint32_t child : ChildrenInOrder(pattern, node, *answer_.names)) {
        std::string delay =
            FormatDuration(paths::MeanOf(pattern.nodes[child].call_delay, pattern.count));
        if (IsAfterReply(pattern, child)) delay += ", after the reply";
        queue.emplace_back(child, AddNode(pattern, child, box, {std::move(delay)}));
      }
    }
  }

 private:
  std::string NameOf(NodeId node) const { return std::string(answer_.names->At(node)); }

  uint32_t AddBox(std::string name, std::string note, bool marked) {
    drawing_.nodes.push_back({std::move(name), std::move(note), marked});
    return static_cast<uint32_t>(drawing_.nodes.size() - 1);
  }

  void AddArrow(uint32_t from, uint32_t to, std::vector<std::string> labels) {
    drawing_.arrows.push_back({from, to, std::move(labels), weight_});
  }

  // The box of a node, with the arrow to it; between them, if it matters, the link.
  uint32_t AddNode(const paths::Pattern& pattern, uint32_t node, uint32_t from,
                   std::vector<std::string> labels) {
    const Nanos link = LinkThatMatters(pattern, node);
    if (link > 0) {
      const uint32_t delay = AddBox("link", FormatDuration(link), false);
      AddArrow(from, delay, std::move(labels));
      labels.clear();
      from = delay;
    }
    const uint32_t box =
        AddBox(NameOf(pattern.nodes[node].node),
               FormatDuration(paths::MeanOf(pattern.nodes[node].latency, pattern.count)),
               node == slowest_);
    AddArrow(from, box, std::move(labels));
    return box;
  }

  const PathsAnswer& answer_;
  PathsDrawing& drawing_;
  double weight_ = 1;
  uint32_t slowest_ = 0;
};

}  // namespace

PathsDrawing DrawPatterns(const PathsAnswer& answer) {
  PathsDrawing drawing;
  drawing.title = fmt::format("{} of {} by {}", CountOf(answer.table->paths(), "path"),
                              CountOf(answer.pairing.messages, "message"), answer.algorithm);
  drawing.foot =
      "Nodes: mean latency, calls included. Arrows: mean delay from the parent's call; the first "
      "one: number of paths and their total latency. Width shows paths.";
  const ShownPatterns shown = Shown(answer);
  uint64_t most = 1;
  for (const paths::Pattern* pattern : shown.patterns) most = std::max(most, pattern->count);
  PatternDrawer drawer(answer, drawing);
  for (const paths::Pattern* pattern : shown.patterns)
    drawer.Draw(*pattern, static_cast<double>(pattern->count) / static_cast<double>(most));
  return drawing;
}

}  // namespace wf::answer
