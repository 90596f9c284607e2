#include "answer/explain/explain_dot.h"

#include <fmt/format.h>

#include "answer/explain/explain_sentence.h"
#include "answer/frame/text_table.h"

namespace wf::answer {
namespace {

// Inside double quotes; dot knows \n, \l, \N and more there, so every backslash is doubled.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// The lines of a label, joined by dot's own line break.
std::string Label(const std::vector<std::string>& lines) {
  std::string out = "\"";
  for (const std::string& line : lines) {
    const std::string quoted = Quoted(line);
    out += (out.size() > 1 ? "\\n" : "") + quoted.substr(1, quoted.size() - 2);
  }
  return out + "\"";
}

double Share(Nanos part, Nanos whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string ExplainDot(const ExplainGraph& graph) {
  const std::vector<Nanos> times = LinkTimes(graph);
  std::string out = "digraph explain {\n";
  out += "  label=" + Quoted(ExplainSentence(graph)) + ";\n";
  out += "  labelloc=t;\n  rankdir=BT;\n";
  out +=
      "  node [shape=box, fontname=\"Helvetica\", fontsize=11, style=filled, fillcolor=white];\n";
  out += "  edge [fontname=\"Helvetica\", fontsize=10];\n";
  for (size_t v = 0; v < graph.nodes.size(); ++v) {
    const ExplainNode& node = graph.nodes[v];
    std::string time = FormatDuration(node.delay_ns);
    if (node.self_ns > 0) time += ", own " + FormatDuration(node.self_ns);
    if (node.baseline_ns) time += ", usually " + FormatDuration(*node.baseline_ns);
    const double share = Share(node.delay_ns, graph.delay_ns);
    // As in the paper's figure 8, the request's own path is yellow; the dashed border says it without colour.
    out += fmt::format("  v{} [label={}, tooltip={}, penwidth={:.1f}{}{}];\n", v,
                       Label({NodeLabel(node, graph.words), time}), Quoted(node.id), 1 + 3 * share,
                       node.functional ? ", fillcolor=lightyellow" : ", style=\"filled,dashed\"",
                       node.delay_ns > 0 ? "" : ", color=gray60, fontcolor=gray40");
  }
  for (size_t l = 0; l < graph.links.size(); ++l) {
    const ExplainLink& link = graph.links[l];
    const bool sequencing = link.kind == provenance::ExplanationEdgeKind::kSequencing;
    std::string label = link.delay_ns > 0 ? FormatDuration(link.delay_ns) : "";
    if (sequencing) label = "behind on " + WaitedOn(graph, link) + "  " + label;
    out += fmt::format("  v{} -> v{} [penwidth={:.1f}, label={}{}{}];\n", link.from, link.to,
                       1 + 7 * Share(times[l], graph.delay_ns), Quoted(label),
                       sequencing ? ", style=dashed" : "", times[l] > 0 ? "" : ", color=gray60");
  }
  return out + "}\n";
}

}  // namespace wf::answer
