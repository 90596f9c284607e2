// Only what carries delay is drawn, and of that what is not a trifle: causes without delay are many (figure 9: two of
// three) and say nothing about time. How many were left out is written below; dot has them all.
#include "answer/explain/explain_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "answer/explain/explain_sentence.h"
#include "answer/frame/text_table.h"
#include "graph/layered_layout.h"

namespace wf::answer {
namespace {

constexpr size_t kMaxNodes = 300;  // more cannot be read, and layout grows with edges × layers
constexpr double kBoxWidth = 244, kBoxHeight = 62, kSlimHeight = 26, kLayerGap = 46, kMargin = 24,
                 kLineHeight = 22;
constexpr double kThinnest = 1.5, kThickest = 22;
constexpr Nanos kTriflePart = 100;  // what is less than this part of the whole is not drawn
constexpr Nanos kSlimPart = 50;     // a step of the request's own with less of its own is one line
constexpr size_t kBoxColumns = 36;  // characters of 12 px that fit a box

constexpr std::string_view kStyle = R"(<style>
svg{--bg:#fff;--box:#fff;--text:#181d25;--muted:#566171;--line:#b8c1cd;--own:#0f7b6c;--path:#9fd3cb;--other:#b3541e;--wait:#e9b48f;background:var(--bg)}
@media (prefers-color-scheme:dark){svg{--bg:#151920;--box:#1f252e;--text:#e6eaf0;--muted:#9aa6b6;--line:#4b5666;--own:#4fc3b0;--path:#22564f;--other:#f08c55;--wait:#6b4228}}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;fill:var(--text)}
.say{font-size:16px;font-weight:600}.name{font-weight:600}.muted{fill:var(--muted);font-size:11px}
.bg{fill:var(--bg)}.box{fill:var(--box);stroke:var(--own)}.off .box{stroke:var(--other);stroke-dasharray:5 3}
.delay{fill:var(--path)}.own{fill:var(--own)}.off .delay{fill:var(--wait)}.off .own{fill:var(--other)}
.link{fill:none;stroke:var(--path)}.link.behind{stroke:var(--wait)}.edge{fill:none;stroke:var(--other);stroke-dasharray:5 3}
</style>
)";

class Picture {
 public:
  explicit Picture(const ExplainGraph& graph) : g_(graph), times_(LinkTimes(graph)) { Choose(); }

  std::string Draw() {
    std::vector<graph::LayoutEdge> edges;
    for (const uint32_t l : links_)
      edges.push_back({place_[g_.links[l].to], place_[g_.links[l].from], Share(times_[l])});
    layout_ = LayOutLayers(shown_.size(), edges, {.node = kBoxWidth, .bend = kThickest, .gap = 28});
    const double width = std::max(layout_.width, 720.0) + 2 * kMargin;
    left_ = kMargin + (width - 2 * kMargin - layout_.width) / 2;
    const std::vector<std::string> say = Lines(width);
    top_ = kMargin + kLineHeight * static_cast<double>(say.size()) + 20;
    PlaceLayers();
    const double height = bottom_ + kMargin;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n{3}"
        "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n",
        width, height, XmlText(ExplainSentence(g_)), kStyle);
    for (size_t i = 0; i < say.size(); ++i) {
      out += fmt::format("<text class=\"say\" x=\"{}\" y=\"{:.0f}\">{}</text>\n", kMargin,
                         kMargin + 14 + kLineHeight * static_cast<double>(i), XmlText(say[i]));
    }
    for (size_t i = 0; i < links_.size(); ++i) out += Link(i);
    for (size_t i = 0; i < shown_.size(); ++i) out += Box(i);
    out += fmt::format("<text class=\"muted\" x=\"{}\" y=\"{:.0f}\">{}</text>\n", kMargin,
                       height - 14, XmlText(Foot()));
    return out + "</svg>\n";
  }

 private:
  void Choose() {
    std::vector<uint32_t> order(g_.nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return Rank(a) != Rank(b) ? Rank(a) < Rank(b) : g_.nodes[a].delay_ns > g_.nodes[b].delay_ns;
    });
    place_.assign(g_.nodes.size(), kNoNode);
    for (const uint32_t v : order) {
      if (shown_.size() == kMaxNodes ||
          (Rank(v) > 1 && g_.nodes[v].delay_ns <= g_.delay_ns / kTriflePart))
        continue;
      place_[v] = static_cast<uint32_t>(shown_.size());
      shown_.push_back(v);
    }
    for (uint32_t l = 0; l < g_.links.size(); ++l) {
      const ExplainLink& link = g_.links[l];
      if (place_[link.from] != kNoNode && place_[link.to] != kNoNode && link.from != link.to)
        links_.push_back(l);
    }
  }

  // The two ends are always drawn; the layout begins with the first.
  int Rank(uint32_t v) const { return v == g_.root ? 0 : v == g_.from ? 1 : 2; }

  double Share(Nanos part) const {
    return g_.delay_ns <= 0
               ? 0
               : std::clamp(static_cast<double>(part) / static_cast<double>(g_.delay_ns), 0.0, 1.0);
  }

  std::vector<std::string> Lines(double width) const {
    const auto columns = static_cast<size_t>((width - 2 * kMargin) / 8.6);
    std::vector<std::string> out = {""};
    std::string text = ExplainSentence(g_);
    if (g_.what_if) text += ". " + ExplainWhatIfSentence(g_);
    for (size_t begin = 0; begin < text.size();) {
      const size_t space = std::min(text.find(' ', begin), text.size());
      const std::string word = text.substr(begin, space - begin);
      if (!out.back().empty() && DisplayWidth(out.back()) + 1 + DisplayWidth(word) > columns)
        out.emplace_back();
      out.back() += (out.back().empty() ? "" : " ") + CutToWidth(word, columns);
      begin = space + 1;
    }
    return out;
  }

  double X(size_t place) const { return left_ + layout_.x[place]; }
  double Y(uint32_t layer) const { return layer_top_[layer]; }

  // A step of the request's own that took next to no time is one line: the eye shall fall on what did.
  bool Slim(size_t place) const {
    const ExplainNode& node = g_.nodes[shown_[place]];
    return node.functional && !node.expired && shown_[place] != g_.root &&
           node.self_ns <= g_.delay_ns / kSlimPart;
  }
  double Height(size_t place) const { return Slim(place) ? kSlimHeight : kBoxHeight; }

  void PlaceLayers() {
    layer_height_.assign(layout_.layers, 0);
    for (size_t i = 0; i < shown_.size(); ++i) {
      double& height = layer_height_[layout_.layer[i]];
      height = std::max(height, Height(i));
    }
    bottom_ = top_;
    for (const double height : layer_height_) {
      layer_top_.push_back(bottom_);
      bottom_ += height + kLayerGap;
    }
  }

  // From the lower edge of the upper box to the upper edge of the lower one, past the layers between.
  std::string Way(size_t i) const {
    uint32_t upper = place_[g_.links[links_[i]].to], lower = place_[g_.links[links_[i]].from];
    if (layout_.layer[upper] > layout_.layer[lower]) std::swap(upper, lower);
    double x = X(upper), y = Y(layout_.layer[upper]) + Height(upper);
    std::string out = fmt::format("M{:.1f} {:.1f}", x, y);
    const auto to = [&](double next_x, double next_y) {
      const double half = (y + next_y) / 2;
      out += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x, half, next_x, half,
                         next_x, next_y);
      x = next_x, y = next_y;
    };
    uint32_t layer = layout_.layer[upper];
    for (const double bend : layout_.bends[i]) {
      to(left_ + bend, Y(++layer));
      y += layer_height_[layer];
      out += fmt::format("L{:.1f} {:.1f}", x, y);
    }
    to(X(lower), Y(layout_.layer[lower]));
    return out;
  }

  std::string Link(size_t i) const {
    const ExplainLink& link = g_.links[links_[i]];
    const bool behind = link.kind == provenance::ExplanationEdgeKind::kSequencing;
    const std::string way = Way(i);
    const double thick = kThinnest + (kThickest - kThinnest) * Share(times_[links_[i]]);
    std::string title = fmt::format(
        "{}: {} {} {}", FormatDuration(link.delay_ns), NodeLabel(g_.nodes[link.to], g_.words),
        behind ? "waited behind" : "caused by", NodeLabel(g_.nodes[link.from], g_.words));
    if (behind) title += ", waiting for " + WaitedOn(g_, link);
    std::string out =
        fmt::format("<g><title>{}</title><path class=\"link{}\" stroke-width=\"{:.1f}\" d=\"{}\"/>",
                    XmlText(title), behind ? " behind" : "", thick, way);
    if (behind) {
      const uint32_t lower = place_[link.from];
      out += fmt::format(
          "<path class=\"edge\" d=\"{}\"/><text class=\"muted\" x=\"{:.1f}\" "
          "y=\"{:.1f}\">{}</text>",
          way, X(lower) + kThickest / 2 + 6, Y(layout_.layer[lower]) - 8,
          XmlText(
              CutToWidth(link.resource.empty() ? "behind" : "behind, on " + link.resource, 24)));
    }
    return out + "</g>\n";
  }

  std::string Box(size_t i) const {
    const ExplainNode& node = g_.nodes[shown_[i]];
    const double x = X(i) - kBoxWidth / 2, y = Y(layout_.layer[i]);
    std::string name = node.count > 1 ? fmt::format("{} × ", node.count) : "";
    name += ReadableTuple(node.tuple);
    std::string where = TypeWord(node.type, g_.words) + "on " + node.node;
    if (!node.functional && !node.origin.empty()) where += ", from " + node.origin;
    std::string time =
        fmt::format("{}, {:.0f}%", FormatDuration(node.delay_ns), 100 * Share(node.delay_ns));
    if (node.self_ns > 0) time += ", own " + FormatDuration(node.self_ns);
    if (node.baseline_ns) time += ", usually " + FormatDuration(*node.baseline_ns);
    if (node.expired) time += ", older causes not kept";
    const double inner = kBoxWidth - 2;
    if (Slim(i)) {
      return fmt::format(
          "<g class=\"on\"><title>{}</title>"
          "<rect class=\"box\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"5\"/>"
          "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
          "<text class=\"muted\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
          XmlText(node.id), x, y, kBoxWidth, kSlimHeight, x + 8, y + 17,
          XmlText(CutToWidth(name + " · " + node.node, kBoxColumns - 10)), x + kBoxWidth - 8,
          y + 17, FormatDuration(node.delay_ns));
    }
    return fmt::format(
        "<g class=\"{}\"><title>{}</title>"
        "<rect class=\"box\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"5\"/>"
        "<rect class=\"delay\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"5\"/>"
        "<rect class=\"own\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"5\"/>"
        "<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
        "<text class=\"muted\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
        node.functional ? "on" : "off", XmlText(node.id), x, y, kBoxWidth, kBoxHeight, x + 1,
        y + kBoxHeight - 6, inner * Share(node.delay_ns), x + 1, y + kBoxHeight - 6,
        inner * Share(node.self_ns), x + 8, y + 17, XmlText(CutToWidth(name, kBoxColumns)), x + 8,
        y + 32, XmlText(CutToWidth(where, kBoxColumns + 2)), x + 8, y + 48,
        XmlText(CutToWidth(time, kBoxColumns)));
  }

  std::string Foot() const {
    std::string out =
        "Width shows time. Solid: caused by. Dashed: waited behind, on the same resource. "
        "Dark part of a bar: own time.";
    const size_t left_out = g_.nodes.size() - shown_.size();
    if (left_out > 0) {
      out += fmt::format(" Not drawn: {} with {}.", left_out,
                         shown_.size() == kMaxNodes ? "less delay" : "less than 1% of the delay");
    }
    return out;
  }

  const ExplainGraph& g_;
  const std::vector<Nanos> times_;
  std::vector<uint32_t> shown_, links_;  // of the graph
  std::vector<uint32_t> place_;          // of each node in shown_
  graph::LayeredLayout layout_;
  std::vector<double> layer_top_, layer_height_;
  double left_ = 0, top_ = 0, bottom_ = 0;
};

}  // namespace

std::string ExplainSvg(const ExplainGraph& graph) { return Picture(graph).Draw(); }

}  // namespace wf::answer
