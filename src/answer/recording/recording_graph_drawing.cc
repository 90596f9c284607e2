// The graph as DOT, as a picture, and as a table.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "answer/frame/text_table.h"
#include "answer/recording/recording_graph.h"
#include "base/nanos.h"

namespace wf::answer {
namespace {

using recorder::SubId;

Status CheckSize(const OpenedRecording& opened, const SelectedGraph& graph) {
  if (graph.subs.size() <= kMostDrawnVertices) return {};
  return BadInput(fmt::format("{}: {} vertices; at most {} can be drawn", opened.recording().file,
                              graph.subs.size(), kMostDrawnVertices),
                  "narrow it: --thread N, --window a-b (as in 10ms-12ms) or --around ID; or "
                  "--format json");
}

// Inside double quotes.
std::string DotText(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string EdgeLabel(OpenedRecording& opened, const SelectedGraph& graph, const GraphEdge& edge) {
  if (edge.kind == GraphEdgeKind::kSync) return opened.ObjectLabel(edge.object);
  if (edge.kind == GraphEdgeKind::kControl) return {};
  const uint64_t pages = graph.data.edges[edge.data].pages;
  return fmt::format("{} page{}", pages, pages == 1 ? "" : "s");
}

// What a person wants to know of it: how it ended, and where.
std::string SubNote(OpenedRecording& opened, const recorder::SubComputation& sub) {
  std::string out(opened.OpOf(sub));
  const std::string object = opened.ObjectLabel(sub.object);
  if (!object.empty()) out += " " + object;
  const std::string site = SiteText(opened.SiteOf(sub));
  if (!site.empty()) out += ", " + site;
  return out;
}

std::string Waited(const recorder::SubComputation& sub) {
  return sub.wait_ns > 0 ? ", waited " + FormatDuration(sub.wait_ns) : "";
}

constexpr double kLaneHeight = 74, kBoxWidth = 52, kBoxHeight = 28, kColumn = 70, kMargin = 24,
                 kHead = 44, kLabels = 150;

constexpr std::string_view kStyle = R"(<style>
svg{--bg:#fff;--box:#fff;--text:#181d25;--muted:#566171;--own:#0f7b6c;--data:#b3541e;--lane:#e8ecf1;--hot:#fbe9dd;background:var(--bg)}
@media (prefers-color-scheme:dark){svg{--bg:#151920;--box:#1f252e;--text:#e6eaf0;--muted:#9aa6b6;--own:#4fc3b0;--data:#f08c55;--lane:#2a313c;--hot:#4a3022}}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;fill:var(--text)}
.say{font-size:16px;font-weight:600}.id{text-anchor:middle;font-size:11px}.muted{fill:var(--muted);font-size:11px}
.bg{fill:var(--bg)}.lane{stroke:var(--lane);stroke-width:2}.box{fill:var(--box);stroke:var(--muted)}.waited .box{fill:var(--hot);stroke:var(--data)}
.sync{fill:none;stroke:var(--own);stroke-width:1.5}.data{fill:none;stroke:var(--data);stroke-width:1.5;stroke-dasharray:5 3}
.sync-tip{fill:var(--own)}.data-tip{fill:var(--data)}
</style>
)";

// Threads are lanes from top to bottom; what happens before something stands to its left.
class Lanes {
 public:
  Lanes(OpenedRecording& opened, const SelectedGraph& graph) : o_(opened), g_(graph) {
    std::vector<SubId> order = g_.subs;
    std::sort(order.begin(), order.end(),
              [&](SubId a, SubId b) { return o_.clocks().Position(a) < o_.clocks().Position(b); });
    std::map<SubId, std::vector<SubId>> before;
    for (const GraphEdge& edge : g_.edges) before[edge.to].push_back(edge.from);
    std::map<uint32_t, uint32_t> next_of_thread;
    for (const SubId s : order) {
      uint32_t column = next_of_thread[o_.recording().subs[s].thread];
      for (const SubId from : before[s]) column = std::max(column, columns_[from] + 1);
      columns_[s] = column;
      next_of_thread[o_.recording().subs[s].thread] = column + 1;
      last_column_ = std::max(last_column_, column);
    }
    uint32_t lane = 0;
    for (const auto& [thread, next] : next_of_thread) lanes_[thread] = lane++;
  }

  std::string Draw() {
    const double width = kLabels + (last_column_ + 1) * kColumn + 2 * kMargin;
    const double height = kHead + static_cast<double>(lanes_.size()) * kLaneHeight + 2 * kMargin;
    const std::string title =
        CountOf(g_.subs.size(), "sub-computation") + " of " + CountOf(lanes_.size(), "thread");
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n{3}"
        "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n"
        "<text class=\"say\" x=\"{4}\" y=\"{5}\">{2}</text>\n"
        "<text class=\"muted\" x=\"{4}\" y=\"{6}\">solid: synchronization; dashed: data by pages; "
        "left to right: happens before</text>\n",
        width, height, title, kStyle, kMargin, kMargin + 8, kMargin + 26);
    for (const auto& [thread, lane] : lanes_) {
      const double y = Y(thread);
      out += fmt::format(
          "<line class=\"lane\" x1=\"{}\" y1=\"{:.0f}\" x2=\"{:.0f}\" y2=\"{:.0f}\"/>"
          "<text x=\"{}\" y=\"{:.0f}\">{} <tspan class=\"muted\">{}</tspan></text>\n",
          kLabels, y, width - kMargin, y, kMargin, y + 4, thread,
          XmlText(CutToWidth(o_.recording().threads[thread].name, 16)));
    }
    for (const GraphEdge& edge : g_.edges) {
      if (edge.kind != GraphEdgeKind::kControl) out += Arrow(edge);
    }
    for (const SubId s : g_.subs) out += Box(s);
    return out + "</svg>\n";
  }

 private:
  double X(SubId s) const { return kLabels + columns_.at(s) * kColumn + kColumn / 2; }
  double Y(uint32_t thread) const {
    return kHead + kMargin + lanes_.at(thread) * kLaneHeight + kLaneHeight / 2;
  }

  std::string Arrow(const GraphEdge& edge) {
    const auto& subs = o_.recording().subs;
    const double x1 = X(edge.from) + kBoxWidth / 2, x2 = X(edge.to) - kBoxWidth / 2;
    double y1 = Y(subs[edge.from].thread), y2 = Y(subs[edge.to].thread);
    const std::string kind(NameOf(edge.kind));
    // Two kinds between the same ends lie beside each other; along a lane the way leads over the boxes between.
    const double aside = edge.kind == GraphEdgeKind::kData ? 6 : -4;
    y1 += aside, y2 += aside;
    const bool along = y1 == y2, next = x2 - x1 < kColumn;
    const double bend = along && !next ? -kLaneHeight * 0.55 : 0;
    const double half = along && next ? (x2 - x1) / 2 : std::max(18.0, (x2 - x1) / 2);
    return fmt::format(
        "<g><title>{0} to {1}: {2}, {3}</title><path class=\"{2}\" d=\"M{4:.1f} {5:.1f}C{6:.1f} "
        "{7:.1f} {8:.1f} {9:.1f} {10:.1f} {11:.1f}\"/><path class=\"{2}-tip\" d=\"M{12:.1f} "
        "{13:.1f}L{12:.1f} {14:.1f}L{15:.1f} {11:.1f}Z\"/></g>\n",
        o_.SubNameOf(edge.from), o_.SubNameOf(edge.to), kind, XmlText(EdgeLabel(o_, g_, edge)), x1,
        y1, x1 + half, y1 + bend, x2 - half, y2 + bend, x2 - 5, y2, x2 - 6, y2 - 3.5, y2 + 3.5, x2);
  }

  std::string Box(SubId s) {
    const recorder::SubComputation& sub = o_.recording().subs[s];
    const double x = X(s), y = Y(sub.thread);
    const std::string length =
        sub.end_ns == recorder::kNotEnded ? "not ended" : FormatDuration(sub.end_ns - sub.start_ns);
    return fmt::format(
        "<g class=\"{}\"><title>{}: from {}, {}; {}</title><rect class=\"box\" x=\"{:.1f}\" "
        "y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"6\"/><text class=\"id\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text></g>\n",
        sub.wait_ns > 0 ? "waited" : "sub", recorder::SubName(sub), FormatDuration(sub.start_ns),
        length, XmlText(SubNote(o_, sub) + Waited(sub)), x - kBoxWidth / 2, y - kBoxHeight / 2,
        kBoxWidth, kBoxHeight, x, y + 4, recorder::SubName(sub));
  }

  OpenedRecording& o_;
  const SelectedGraph& g_;
  std::map<SubId, uint32_t> columns_;
  std::map<uint32_t, uint32_t> lanes_;
  uint32_t last_column_ = 0;
};

}  // namespace

Result<std::string> GraphDot(OpenedRecording& opened, const GraphSelection& selection) {
  WF_ASSIGN(const SelectedGraph graph, SelectGraph(opened, selection, GraphPages::kCounts));
  WF_TRY(CheckSize(opened, graph));
  const recorder::Recording& r = opened.recording();
  std::string out =
      "digraph cpg {\n  rankdir=LR;\n  node [shape=box, fontname=\"Helvetica\", fontsize=11];\n"
      "  edge [fontname=\"Helvetica\", fontsize=9];\n";
  size_t at = 0;
  while (at < graph.subs.size()) {
    const uint32_t thread = r.subs[graph.subs[at]].thread;
    out += fmt::format("  subgraph cluster_{} {{\n    label=\"{} {}\";\n", thread, thread,
                       DotText(r.threads[thread].name));
    for (; at < graph.subs.size() && r.subs[graph.subs[at]].thread == thread; ++at) {
      const recorder::SubComputation& sub = r.subs[graph.subs[at]];
      out += fmt::format("    \"{}\" [label=\"{}\\n{}\"];\n", recorder::SubName(sub),
                         recorder::SubName(sub), DotText(SubNote(opened, sub) + Waited(sub)));
    }
    out += "  }\n";
  }
  for (const GraphEdge& edge : graph.edges) {
    const char* const style = edge.kind == GraphEdgeKind::kControl ? "color=gray50"
                              : edge.kind == GraphEdgeKind::kSync
                                  ? "color=\"#0f7b6c\", fontcolor=\"#0f7b6c\""
                                  : "color=\"#b3541e\", fontcolor=\"#b3541e\", style=dashed";
    out += fmt::format("  \"{}\" -> \"{}\" [kind={}, {}, label=\"{}\"];\n",
                       opened.SubNameOf(edge.from), opened.SubNameOf(edge.to), NameOf(edge.kind),
                       style, DotText(EdgeLabel(opened, graph, edge)));
  }
  return out + "}\n";
}

Result<std::string> GraphSvg(OpenedRecording& opened, const GraphSelection& selection) {
  WF_ASSIGN(const SelectedGraph graph, SelectGraph(opened, selection, GraphPages::kCounts));
  WF_TRY(CheckSize(opened, graph));
  return Lanes(opened, graph).Draw();
}

Result<std::string> GraphText(OpenedRecording& opened, const GraphSelection& selection) {
  WF_ASSIGN(const SelectedGraph graph, SelectGraph(opened, selection, GraphPages::kCounts));
  constexpr size_t kMostLines = 200;
  const recorder::Recording& r = opened.recording();
  std::map<SubId, std::string> after;
  for (const GraphEdge& edge : graph.edges) {
    if (edge.kind == GraphEdgeKind::kControl) continue;
    std::string& text = after[edge.to];
    text += (text.empty() ? "" : ", ") + opened.SubNameOf(edge.from) +
            (edge.kind == GraphEdgeKind::kData ? " (data)" : "");
  }
  TextTable table({"id", "start", "time", "wait", "after", "ended by"}, {1, 2, 3});
  for (size_t i = 0; i < graph.subs.size() && i < kMostLines; ++i) {
    const recorder::SubComputation& sub = r.subs[graph.subs[i]];
    const bool ended = sub.end_ns != recorder::kNotEnded;
    table.Row({recorder::SubName(sub), FormatDuration(sub.start_ns),
               ended ? FormatDuration(sub.end_ns - sub.start_ns) : "-",
               sub.wait_ns > 0 ? FormatDuration(sub.wait_ns) : "",
               CutToWidth(after[graph.subs[i]], 24), SubNote(opened, sub)});
  }
  std::string out = fmt::format("{}, {}{}\n\n", CountOf(graph.subs.size(), "sub-computation"),
                                CountOf(graph.edges.size(), "edge"),
                                r.complete ? "" : "; the recording was cut off");
  out += table.Print(TextWidth(), 5);
  if (graph.subs.size() > kMostLines)
    out += fmt::format("… and {} more: narrow it with --thread N, --window a-b or --around ID\n",
                       graph.subs.size() - kMostLines);
  return out;
}

}  // namespace wf::answer
