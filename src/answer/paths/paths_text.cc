#include "answer/paths/paths_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer/frame/text_table.h"

namespace wf::answer {
namespace {

constexpr size_t kMaxIndent = 32;     // columns; deeper nodes stay there
constexpr size_t kMaxName = 16;       // at the deepest; what stands behind it must be seen
constexpr size_t kMaxTextNodes = 60;  // of one tree; json has the rest
constexpr size_t kMaxListed = 10;     // rows of the lists behind the trees
constexpr const char* kMark = " ◀ adds most";

std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string Many(uint64_t number, std::string_view one) {
  return Grouped(number) + " " + std::string(one) + (number == 1 ? "" : "s");
}

std::string Percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

class TreePrinter {
 public:
  TreePrinter(const paths::Pattern& pattern, const StringTable& names)
      : pattern_(pattern),
        names_(names),
        slowest_(paths::SlowestNode(pattern)),
        table_({"after", "latency", "own", "node"}, {0, 1, 2}) {}

  std::string Print() {
    struct Level {
      std::vector<uint32_t> nodes;
      size_t next = 0;
    };
    std::vector<Level> levels = {{{0}}};
    while (!levels.empty() && rows_ < kMaxTextNodes) {
      Level& level = levels.back();
      if (level.next == level.nodes.size()) {
        levels.pop_back();
        continue;
      }
      const uint32_t node = level.nodes[level.next++];
      Row(node, levels.size() - 1);
      levels.push_back({ChildrenInOrder(pattern_, node, names_)});
    }
    if (rows_ < pattern_.nodes.size())
      table_.Row(
          {"", "", "",
           fmt::format("⋮ {} more: --format json lists all", pattern_.nodes.size() - rows_)});
    return table_.Print(TextWidth(), 3);
  }

 private:
  void Row(uint32_t n, size_t depth) {
    const paths::PatternNode& node = pattern_.nodes[n];
    const auto mean = [&](paths::WideSum sum) {
      return FormatDuration(paths::MeanOf(sum, pattern_.count));
    };
    std::string name(std::min(2 * depth, kMaxIndent), ' ');
    name = CutToWidth(name + Printable(names_.At(node.node)), kMaxIndent + kMaxName);
    if (const Nanos link = LinkThatMatters(pattern_, n); link > 0)
      name += " (link " + FormatDuration(link) + ")";
    if (IsAfterReply(pattern_, n)) name += " (after the reply)";
    if (n == slowest_) name += kMark;
    if (node.children > 0) {
      name += "  steps";
      for (uint32_t s = 0; s <= node.children; ++s)
        name += (s == 0 ? " " : " · ") + mean(pattern_.steps[node.first_step + s]);
    }
    table_.Row({n == 0 ? "" : "+" + mean(node.call_delay), mean(node.latency),
                mean(paths::OwnTime(pattern_, n)), name},
               n == slowest_ ? RowMark::kCulprit : RowMark::kNone);
    ++rows_;
  }

  const paths::Pattern& pattern_;
  const StringTable& names_;
  uint32_t slowest_;
  TextTable table_;
  size_t rows_ = 0;
};

std::string Head(const PathsAnswer& answer) {
  const paths::PairingCounts& pairing = answer.pairing;
  std::string text = Wrapped(fmt::format("Paths by {}: {}.", answer.algorithm, answer.why));
  text += Wrapped(fmt::format(
      "{}, {}, {} of {}; parallelism {:.2f}.", Many(pairing.messages, "message"),
      Many(pairing.calls, "call"), Many(answer.table->paths(), "path"),
      Many(answer.table->patterns().size() + answer.table->forgotten_patterns(), "pattern"),
      answer.parallelism));
  std::string left;
  const auto add = [&](uint64_t count, const char* what) {
    if (count > 0) left += (left.empty() ? "" : ", ") + Many(count, what);
  };
  add(pairing.unpaired_calls, "unanswered call");
  add(pairing.unpaired_returns, "unmatched return");
  add(pairing.msgs, "one-way message");
  add(answer.duplicates, "duplicate");
  add(pairing.retransmissions, "retransmission");
  if (!left.empty()) text += Wrapped("Left out: " + left + ".");
  if (!answer.skew_ns.empty()) {
    std::string skew;
    for (const auto& [node, ns] : answer.skew_ns) {
      if (ns == 0) continue;
      skew += (skew.empty() ? "" : ", ") + Printable(node) + " " + (ns < 0 ? "−" : "+") +
              FormatDuration(ns < 0 ? -ns : ns);
    }
    if (!skew.empty()) text += Wrapped("Clock skew corrected: " + skew + ".");
  }
  for (const std::string& note : answer.notes)
    text += Painted(Paint::kHint, Wrapped(Printable(note)));
  return text;
}

std::string Trees(const PathsAnswer& answer) {
  std::string text;
  const ShownPatterns shown = Shown(answer);
  const paths::PatternPhases phases(*answer.table);
  size_t rank = 0;
  for (const paths::Pattern* pattern : shown.patterns) {
    text +=
        "\n" + Wrapped(fmt::format("{}. {} × {} from {}; p50 {} · p99 {}; total {}  [{}]", ++rank,
                                   Grouped(pattern->count), FormatDuration(pattern->MeanLatency()),
                                   Printable(answer.names->At(pattern->client)),
                                   FormatDuration(pattern->latency.Quantile(0.5)),
                                   FormatDuration(pattern->latency.Quantile(0.99)),
                                   FormatDuration(paths::HeldToNanos(pattern->total_latency)),
                                   PatternIdText(pattern->id)));
    if (const auto phase = phases.Of(*pattern))
      text += Wrapped(fmt::format("only between {} and {}: {} of the {} paths in that time",
                                  FormatInstant(phase->from_ns), FormatInstant(phase->until_ns),
                                  Grouped(phase->count), Grouped(phase->among)));
    text += TreePrinter(*pattern, *answer.names).Print();
  }
  if (shown.omitted_patterns > 0)
    text += "\n" + Wrapped(fmt::format("{} of {}: --top 0 shows all.",
                                       Many(shown.omitted_patterns, "more pattern"),
                                       Many(shown.omitted_count, "path")));
  return text;
}

std::string RareSlow(const PathsAnswer& answer) {
  const auto rare = paths::FindRareSlow(*answer.table);
  if (rare.empty()) return "";
  TextTable table({"paths", "among", "mean", "usual", "adds most", "pattern"}, {0, 1, 2, 3});
  for (size_t i = 0; i < std::min(rare.size(), kMaxListed); ++i) {
    const paths::Pattern& pattern = *rare[i].pattern;
    table.Row({Grouped(pattern.count), Grouped(rare[i].among),
               FormatDuration(pattern.MeanLatency()), FormatDuration(rare[i].usual_ns),
               Printable(answer.names->At(pattern.nodes[paths::SlowestNode(pattern)].node)),
               PatternIdText(pattern.id)});
  }
  return "\nRare and slow:\n" + table.Print(TextWidth(), 4);
}

}  // namespace

std::string AccuracyText(const paths::PathAccuracy& a) {
  TextTable table({"accuracy", "share", "counts"}, {1});
  const auto right = [&](const char* what, const paths::Fraction& value) {
    table.Row({what, Percent(value.Share()),
               fmt::format("{} of {}", Grouped(value.part), Grouped(value.of))});
  };
  right("calls given their true parent", a.edges);
  right("traces correct as a whole", a.traces);
  right("messages in a wrong path", a.messages);
  table.Row({"patterns found but not true",
             Percent(paths::Fraction{a.pattern_fp, a.found_patterns}.Share()),
             fmt::format("{} of {}", Grouped(a.pattern_fp), Grouped(a.found_patterns))});
  table.Row({"patterns true but not found",
             Percent(paths::Fraction{a.pattern_fn, a.true_patterns}.Share()),
             fmt::format("{} of {}", Grouped(a.pattern_fn), Grouped(a.true_patterns))});
  right("instances found but not true", {a.instance_fp, a.found_instances});
  right("instances true but not found", {a.instance_fn, a.true_instances});
  for (const paths::TopAccuracy& top : a.top) {
    if (top.n != 1 && top.n != 5 && top.n != 10 && top.n != 25) continue;
    table.Row(
        {fmt::format("top {} not among the found {}", top.n, top.n), Percent(top.missing),
         fmt::format("{} within 2%, {} within 6%", Percent(top.within_2), Percent(top.within_6))});
  }
  std::string text = "\n" + table.Print(TextWidth(), 0);
  if (a.unknown_rows > 0)
    text += Wrapped(fmt::format("{} rows of the truth name a request that the input does not show.",
                                Grouped(a.unknown_rows)));
  return text;
}

std::string PathsText(const PathsAnswer& answer) {
  std::string text = Head(answer) + Trees(answer) + RareSlow(answer);
  if (answer.accuracy) text += AccuracyText(*answer.accuracy);
  return text;
}

}  // namespace wf::answer
