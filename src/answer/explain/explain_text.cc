// The tree reads as figure 8 of the paper is read: from the end, along the links that carry most time. That main line
// keeps its indentation, however long it is; what joins it on the side is indented and comes first. A vertex that many
// lead to is told once.
#include "answer/explain/explain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "answer/explain/explain_sentence.h"
#include "answer/frame/text_table.h"

namespace wf::answer {
namespace {

constexpr size_t kMaxRows = 60;  // a screen or two; json has the rest
// What is less than this part of the whole gets no row of its own.
constexpr Nanos kSmallPart = 1000;
constexpr size_t kMaxIndent = 12;  // side branches of side branches; deeper ones stay at this depth

class TreeWriter {
 public:
  explicit TreeWriter(const ExplainGraph& graph)
      : g_(graph),
        times_(LinkTimes(graph)),
        small_(graph.delay_ns / kSmallPart),
        baseline_(std::any_of(graph.nodes.begin(), graph.nodes.end(),
                              [](const ExplainNode& n) { return n.baseline_ns.has_value(); })),
        table_(Heads(), RightAligned()),
        told_(graph.nodes.size(), false),
        causes_(graph.nodes.size()) {
    Nanos most = 0;  // the off-path work with most time of its own
    for (uint32_t v = 0; v < g_.nodes.size(); ++v) {
      const ExplainNode& node = g_.nodes[v];
      if (!node.functional && node.self_ns > most) most = node.self_ns, culprit_ = v;
    }
    for (uint32_t l = 0; l < g_.links.size(); ++l) {
      if (times_[l] > small_ && g_.links[l].from != g_.links[l].to)
        causes_[g_.links[l].to].push_back(l);
    }
    for (auto& list : causes_) {
      std::stable_sort(list.begin(), list.end(),
                       [&](uint32_t a, uint32_t b) { return times_[a] > times_[b]; });
    }
  }

  std::string Write() {
    if (g_.root == kNoNode) return "";
    Line(g_.root, "", "");
    size_t left = 0, small = 0;
    for (size_t v = 0; v < g_.nodes.size(); ++v) {
      if (told_[v] || g_.nodes[v].delay_ns <= 0) continue;
      ++(g_.nodes[v].delay_ns > small_ ? left : small);
    }
    if (left > 0) Row("⋮", "", "", fmt::format("{} more: --format json lists all", left));
    if (small > 0) Row("⋮", "", "", fmt::format("{} more with less than 1% each", small));
    return table_.Print(TextWidth(), baseline_ ? 3 : 2);
  }

 private:
  std::vector<std::string> Heads() const {
    if (baseline_) return {"time", "own", "usual", "what"};
    return {"time", "own", "what"};
  }
  std::vector<size_t> RightAligned() const {
    if (baseline_) return {0, 1, 2};
    return {0, 1};
  }

  void Row(std::string time, std::string own, std::string usual, std::string what,
           RowMark mark = RowMark::kNone) {
    ++rows_;
    if (baseline_)
      table_.Row({std::move(time), std::move(own), std::move(usual), std::move(what)}, mark);
    else
      table_.Row({std::move(time), std::move(own), std::move(what)}, mark);
  }

  void NodeRow(uint32_t v, const std::string& lead) {
    const ExplainNode& node = g_.nodes[v];
    told_[v] = true;
    Row(FormatDuration(node.delay_ns), node.self_ns > 0 ? FormatDuration(node.self_ns) : "",
        node.baseline_ns ? FormatDuration(*node.baseline_ns) : "", lead + NodeLabel(node, g_.words),
        v == culprit_ ? RowMark::kCulprit : RowMark::kNone);
  }

  // How a link introduces its cause: by a word, not by the line's form alone.
  std::string Behind(uint32_t link) const {
    const ExplainLink& l = g_.links[link];
    if (l.kind == provenance::ExplanationEdgeKind::kCausal) return "";
    const std::string place = WaitedOn(g_, l);
    return place == Printable(g_.nodes[l.from].node) ? "behind " : "behind, on " + place + ": ";
  }

  static std::string_view Mark(provenance::ExplanationEdgeKind kind) {
    return kind == provenance::ExplanationEdgeKind::kCausal ? "│ " : "╎ ";
  }

  // Worth a row: time of its own, a choice of ways, or a wait for others.
  bool Plain(uint32_t v) const {
    const ExplainNode& node = g_.nodes[v];
    return node.self_ns <= small_ && node.functional && !node.expired && v != g_.from &&
           causes_[v].size() == 1 &&
           g_.links[causes_[v][0]].kind == provenance::ExplanationEdgeKind::kCausal;
  }

  // The main line from v on; its side branches before it goes on.
  void Line(uint32_t v, const std::string& indent, std::string lead) {
    while (rows_ < kMaxRows) {
      NodeRow(v, indent + lead);
      const auto& causes = causes_[v];
      uint32_t next = kNoNode;
      for (const uint32_t l : causes) {
        const uint32_t cause = g_.links[l].from;
        if (told_[cause]) {
          if (rows_ < kMaxRows)
            Row(FormatDuration(times_[l]), "", "",
                indent + "├─ " + Behind(l) + CutToWidth(NodeLabel(g_.nodes[cause], g_.words), 60) +
                    " (above)");
        } else if (next == kNoNode) {
          next = l;
        } else if (rows_ < kMaxRows) {
          const bool deep = DisplayWidth(indent) >= kMaxIndent;
          const bool causal = g_.links[l].kind == provenance::ExplanationEdgeKind::kCausal;
          Line(cause, deep ? indent : indent + "│  ", (causal ? "├─ " : "├╌ ") + Behind(l));
        }
      }
      // A side branch may have told it meanwhile.
      if (next == kNoNode || told_[g_.links[next].from]) return;
      lead = std::string(Mark(g_.links[next].kind)) + Behind(next);
      v = SkipPlain(g_.links[next].from, indent, lead);
    }
  }

  // Several steps in a row with next to no time of their own become one row that counts them.
  uint32_t SkipPlain(uint32_t v, const std::string& indent, std::string& lead) {
    uint32_t at = v;
    size_t skipped = 0;
    Nanos own = 0;
    uint32_t link = kNoNode;
    while (Plain(at) && !told_[at]) {
      const uint32_t cause = g_.links[causes_[at][0]].from;
      if (told_[cause]) break;
      ++skipped;
      own += g_.nodes[at].self_ns;
      link = causes_[at][0];
      at = cause;
    }
    if (skipped < 2) return v;
    for (uint32_t p = v; p != at; p = g_.links[causes_[p][0]].from) told_[p] = true;
    Row("⋮", own > 0 ? FormatDuration(own) : "", "",
        fmt::format("{}⋮ {} steps with {} time of their own", indent, skipped,
                    own > 0 ? "little" : "no"));
    lead = std::string(Mark(g_.links[link].kind)) + Behind(link);
    return at;
  }

  const ExplainGraph& g_;
  const std::vector<Nanos> times_;
  const Nanos small_;
  const bool baseline_;
  TextTable table_;
  std::vector<bool> told_;
  std::vector<std::vector<uint32_t>> causes_;  // links with time, most first
  size_t rows_ = 0;
  uint32_t culprit_ = kNoNode;
};

}  // namespace

std::string ExplainText(const ExplainGraph& graph) {
  std::string out = Painted(Paint::kVerdict, Wrapped(ExplainSentence(graph)));
  if (graph.what_if) out += Wrapped(ExplainWhatIfSentence(graph));
  for (const std::string& note : graph.notes)
    out += Painted(Paint::kHint, Wrapped(Printable(note)));
  const auto expired = std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                     [](const ExplainNode& n) { return n.expired; });
  if (expired > 0) {
    out += fmt::format("earlier causes of {} were deleted: their time may have earlier reasons\n",
                       CountOf(static_cast<uint64_t>(expired), "event"));
  }
  out += "\n" + TreeWriter(graph).Write();
  std::string legend =
      "│ caused by   ╎ waited behind, on the same resource   own: time that nothing earlier "
      "explains\n";
  if (!graph.what_if) legend += "to see what a change would save: --what-if NODE/NAME=0.5x\n";
  out += "\n" + Painted(Paint::kHint, legend);
  return out;
}

}  // namespace wf::answer
