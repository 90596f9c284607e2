// Beyond kMaxNodes nothing could be read: nodes are given in the order of interest, parents before children, so the first
// are drawn, and how many are not is written below; dot has them all.
#include "answer/paths/paths_svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer/frame/text_table.h"
#include "graph/layered_layout.h"

namespace wf::answer {
namespace {

constexpr size_t kMaxNodes = 400;
constexpr double kBoxWidth = 172, kBoxHeight = 44, kLayerGap = 62, kMargin = 24, kHead = 36,
                 kFoot = 34, kLabelLine = 14;
constexpr double kThinnest = 1, kThickest = 9;
constexpr size_t kNameColumns = 20, kLabelColumns = 24, kMostLabels = 3;

constexpr std::string_view kStyle = R"(<style>
svg{--bg:#fff;--box:#fff;--text:#181d25;--muted:#566171;--own:#0f7b6c;--path:#9fd3cb;--mark:#b3541e;--hot:#fbe9dd;background:var(--bg)}
@media (prefers-color-scheme:dark){svg{--bg:#151920;--box:#1f252e;--text:#e6eaf0;--muted:#9aa6b6;--own:#4fc3b0;--path:#22564f;--mark:#f08c55;--hot:#4a3022}}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;fill:var(--text)}
.say{font-size:16px;font-weight:600}.name{font-weight:600;text-anchor:middle}.note{text-anchor:middle}.muted{fill:var(--muted);font-size:11px}
.bg{fill:var(--bg)}.box{fill:var(--box);stroke:var(--own)}.most .box{fill:var(--hot);stroke:var(--mark);stroke-width:2.5}
.arrow{fill:none;stroke:var(--path)}.tip{fill:var(--path)}.label{font-size:11px;paint-order:stroke;stroke:var(--bg);stroke-width:3px}
</style>
)";

class Picture {
 public:
  explicit Picture(const PathsDrawing& drawing) : d_(drawing) {
    shown_ = std::min(d_.nodes.size(), kMaxNodes);
    for (const DrawnArrow& arrow : d_.arrows)
      if (arrow.from < shown_ && arrow.to < shown_) arrows_.push_back(&arrow);
  }

  std::string Draw() {
    std::vector<graph::LayoutEdge> edges;
    for (const DrawnArrow* arrow : arrows_)
      edges.push_back({arrow->from, arrow->to, std::max(0.0, arrow->weight)});
    layout_ = LayOutLayers(shown_, edges, {.node = kBoxWidth, .bend = kThickest, .gap = 26});
    const double width = std::max(layout_.width, 720.0) + 2 * kMargin;
    left_ = kMargin + (width - 2 * kMargin - layout_.width) / 2;
    const double height =
        kMargin + kHead + static_cast<double>(layout_.layers) * (kBoxHeight + kLayerGap) + kFoot;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n{3}"
        "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n"
        "<text class=\"say\" x=\"{4}\" y=\"{5}\">{2}</text>\n",
        width, height, XmlText(d_.title), kStyle, kMargin, kMargin + 14);
    for (size_t i = 0; i < arrows_.size(); ++i) out += Arrow(i);
    for (size_t i = 0; i < arrows_.size(); ++i) out += Label(*arrows_[i]);
    for (uint32_t v = 0; v < shown_; ++v) out += Box(v);
    std::string foot = d_.foot;
    if (shown_ < d_.nodes.size())
      foot += fmt::format(" Not drawn: {} more.", d_.nodes.size() - shown_);
    out += fmt::format("<text class=\"muted\" x=\"{}\" y=\"{:.0f}\">{}</text>\n", kMargin,
                       height - 14, XmlText(foot));
    return out + "</svg>\n";
  }

 private:
  double X(uint32_t v) const { return left_ + layout_.x[v]; }
  double Y(uint32_t layer) const {
    return kMargin + kHead + static_cast<double>(layer) * (kBoxHeight + kLayerGap);
  }

  std::string Arrow(size_t i) const {
    const DrawnArrow& arrow = *arrows_[i];
    uint32_t upper = arrow.from, lower = arrow.to;
    if (layout_.layer[upper] > layout_.layer[lower]) std::swap(upper, lower);
    double x = X(upper), y = Y(layout_.layer[upper]) + kBoxHeight;
    std::string way = fmt::format("M{:.1f} {:.1f}", x, y);
    const auto to = [&](double next_x, double next_y) {
      const double half = (y + next_y) / 2;
      way += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x, half, next_x, half,
                         next_x, next_y);
      x = next_x, y = next_y;
    };
    uint32_t layer = layout_.layer[upper];
    for (const double bend : layout_.bends[i]) {
      to(left_ + bend, Y(++layer));
      y += kBoxHeight;
      way += fmt::format("L{:.1f} {:.1f}", x, y);
    }
    const double end = Y(layout_.layer[lower]);
    to(X(lower), end - 7);
    const double thick = kThinnest + (kThickest - kThinnest) * std::clamp(arrow.weight, 0.0, 1.0);
    const double tip = 3 + thick / 2;
    return fmt::format(
        "<path class=\"arrow\" stroke-width=\"{:.1f}\" d=\"{}\"/>"
        "<path class=\"tip\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z\"/>\n",
        thick, way, X(lower) - tip, end - 8, X(lower) + tip, end - 8, X(lower), end);
  }

  // Above the node that the arrow leads to: labels of one layer are as far apart as its boxes.
  std::string Label(const DrawnArrow& arrow) const {
    const size_t lines = std::min(arrow.labels.size(), kMostLabels);
    double y = Y(layout_.layer[arrow.to]) - 12 - kLabelLine * static_cast<double>(lines - 1);
    std::string title;
    for (const std::string& line : arrow.labels) title += (title.empty() ? "" : "; ") + line;
    std::string out = fmt::format("<g><title>{}</title>", XmlText(title));
    for (size_t i = 0; i < lines; ++i, y += kLabelLine) {
      out += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                         X(arrow.to) + 9, y, XmlText(CutToWidth(arrow.labels[i], kLabelColumns)));
    }
    return lines == 0 ? "" : out + "</g>\n";
  }

  std::string Box(uint32_t v) const {
    const DrawnNode& node = d_.nodes[v];
    const double x = X(v), y = Y(layout_.layer[v]);
    const bool noted = !node.note.empty();
    std::string out = fmt::format(
        "<g class=\"{}\"><title>{}</title><rect class=\"box\" x=\"{:.1f}\" y=\"{:.1f}\" "
        "width=\"{}\" height=\"{}\" rx=\"22\"/>"
        "<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
        node.marked ? "most" : "node", XmlText(node.name), x - kBoxWidth / 2, y, kBoxWidth,
        kBoxHeight, x, y + (noted ? 19 : 26), XmlText(CutToWidth(node.name, kNameColumns)));
    if (noted) {
      out += fmt::format("<text class=\"note\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x, y + 35,
                         XmlText(CutToWidth(node.note, kNameColumns)));
    }
    return out + "</g>\n";
  }

  const PathsDrawing& d_;
  size_t shown_ = 0;
  std::vector<const DrawnArrow*> arrows_;
  graph::LayeredLayout layout_;
  double left_ = 0;
};

}  // namespace

std::string PathsSvg(const PathsDrawing& drawing) { return Picture(drawing).Draw(); }

}  // namespace wf::answer
