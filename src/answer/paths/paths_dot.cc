#include "answer/paths/paths_dot.h"

#include <fmt/format.h>

#include "answer/frame/text_table.h"

namespace wf::answer {
namespace {

// Inside double quotes; dot knows \n, \l, \N and more there, so every backslash is doubled.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string PathsDot(const PathsDrawing& drawing) {
  std::string out = "digraph paths {\n";
  out += fmt::format("  label=\"{}\";\n  labelloc=t;\n", Escaped(drawing.title));
  out += "  node [shape=ellipse, fontname=\"Helvetica\", fontsize=11];\n";
  out += "  edge [fontname=\"Helvetica\", fontsize=10];\n";
  for (size_t v = 0; v < drawing.nodes.size(); ++v) {
    const DrawnNode& node = drawing.nodes[v];
    out += fmt::format("  v{} [label=\"{}{}{}\"{}];\n", v, Escaped(node.name),
                       node.note.empty() ? "" : "\\n", Escaped(node.note),
                       node.marked ? ", style=filled, fillcolor=lightgray, penwidth=2" : "");
  }
  for (const DrawnArrow& arrow : drawing.arrows) {
    std::string label;
    for (const std::string& line : arrow.labels)
      label += (label.empty() ? "" : "\\n") + Escaped(line);
    out += fmt::format("  v{} -> v{} [label=\"{}\", penwidth={:.1f}];\n", arrow.from, arrow.to,
                       label, 1 + 5 * arrow.weight);
  }
  return out + "}\n";
}

}  // namespace wf::answer
