#include "answer/paths/convolution_text.h"

#include <fmt/format.h>

#include "answer/frame/text_table.h"

namespace wf::answer {
namespace {

constexpr size_t kDelayColumns = 40, kDeepestBranch = 28;

std::string Count(uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// The lines to the left of a vertex: what hangs above it goes on or ends here.
class Tree {
 public:
  Tree(const paths::ConvolutionResult& result, const StringTable& nodes)
      : result_(result), nodes_(nodes) {
    children_.resize(result.vertices.size());
    for (const paths::ConvolutionEdge& edge : result.edges) children_[edge.from].push_back(&edge);
  }

  void Print(uint32_t vertex, TextTable& table) {
    table.Row({Printable(nodes_.At(result_.vertices[vertex])), "", ""});
    Below(vertex, "", table);
  }

 private:
  void Below(uint32_t vertex, const std::string& lines, TextTable& table) {
    for (size_t i = 0; i < children_[vertex].size(); ++i) {
      const paths::ConvolutionEdge& edge = *children_[vertex][i];
      const bool last = i + 1 == children_[vertex].size();
      const std::string name = Printable(nodes_.At(result_.vertices[edge.to]));
      table.Row({lines + (last ? "└ " : "├ ") + name, std::to_string(edge.count),
                 CutToWidth(DelaysText(edge), kDelayColumns)});
      // Beyond some depth there is no room for more lines.
      const bool deep = DisplayWidth(lines) >= kDeepestBranch;
      Below(edge.to, deep ? lines : lines + (last ? " " : "│"), table);
    }
  }

  const paths::ConvolutionResult& result_;
  const StringTable& nodes_;
  std::vector<std::vector<const paths::ConvolutionEdge*>> children_;
};

std::string Suppressed(const paths::ConvolutionSuppressed& s) {
  std::string out;
  const auto add = [&](uint64_t count, const char* what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(s.noise, "noise");
  add(s.negative, "negative");
  add(s.cycles, "cycles");
  add(s.derived, "derived");
  add(s.unsupported, "unsupported");
  add(s.ghosts, "ghosts");
  add(s.short_paths, "short");
  add(s.deep, "too deep");
  return out;
}

}  // namespace

std::string DelaysText(const paths::ConvolutionEdge& edge) {
  if (edge.delays.size() == 1) return FormatDuration(edge.delays.front().delay_ns);
  std::string out;
  for (const paths::ConvolutionDelay& delay : edge.delays) {
    out += fmt::format("{}{} ×{}", out.empty() ? "" : ", ", FormatDuration(delay.delay_ns),
                       delay.count);
  }
  return out;
}

std::string ConvolutionText(const paths::ConvolutionResult& result, const StringTable& nodes,
                            std::string_view why) {
  std::string out = fmt::format("convolution: {}\n", Printable(why));
  out += fmt::format(
      "{}, quantum {} ({}), delays up to {}\n", Count(result.messages, "message", "messages"),
      FormatDuration(result.quantum_ns), result.quantum_why, FormatDuration(result.max_delay_ns));
  const std::string suppressed = Suppressed(result.suppressed);
  if (!suppressed.empty()) out += "not shown: " + suppressed + "\n";
  if (result.duplicates + result.retransmissions > 0) {
    out += fmt::format("duplicates not counted: {} in other inputs, {} in the same input\n",
                       result.duplicates, result.retransmissions);
  }
  if (result.vertices.empty()) return out;
  Tree tree(result, nodes);
  TextTable table({"visit", "messages", "after"}, {1});
  for (const uint32_t root : result.roots) tree.Print(root, table);
  return out + "\n" + table.Print(TextWidth(), 0);
}

}  // namespace wf::answer
