// The critical path for a terminal: a sentence that says it, then the steps.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "answer/critical_path/critical_path_answer.h"
#include "answer/frame/text_table.h"
#include "answer/trace/trace_answer.h"
#include "answer/trace/traces_answer.h"

namespace wf::answer {
namespace {

constexpr size_t kMaxRows = 60;  // of a longer path the longest steps, in their order
constexpr size_t kMaxName = 40;  // of the request in a sentence; what it was made of gets the rest

std::string Percent(Nanos part, Nanos whole) {
  if (whole <= 0) return "0%";
  return fmt::format("{:.0f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string CategoryWord(critical_path::PathCategory category) {
  return std::string(critical_path::PathCategoryName(category));
}

// Rows to show, in order; what is left out between them is told.
std::vector<bool> Longest(const std::vector<Nanos>& times, size_t most) {
  std::vector<size_t> order(times.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return times[a] > times[b]; });
  std::vector<bool> kept(times.size(), false);
  for (size_t i = 0; i < std::min(most, order.size()); ++i) kept[order[i]] = true;
  return kept;
}

class PathTextWriter {
 public:
  PathTextWriter(const Trace& trace, const critical_path::CriticalPath& path)
      : t_(trace), path_(path), segments_(ShownSegments(path)) {
    total_ = SaturatingSub(path.end_ns, path.start_ns);
  }

  std::string Write(const std::optional<critical_path::WhatIfAnswer>& what_if) {
    Headline();
    if (what_if) out_ += WhatIfSentence(*what_if, total_) + "\n";
    out_ += fmt::format("trace {} · {}\n", ToHex(t_.id), CompletenessSentence(t_));
    if (t_.roots.size() > 1 && path_.root == t_.main_root()) {
      out_ += fmt::format("{} more root{} in this trace, not on this path\n", t_.roots.size() - 1,
                          t_.roots.size() == 2 ? "" : "s");
    }
    out_ += "\n";
    Rows();
    return out_;
  }

 private:
  std::string Name(uint32_t b) const {
    return StepName(t_.service(t_.blocks[b]), t_.str(t_.blocks[b].name));
  }

  // The span with the most time of one category.
  void Headline() {
    std::map<std::pair<uint32_t, critical_path::PathCategory>, Nanos> times;
    for (const ShownSegment& s : segments_) times[{s.block, s.category}] += s.end_ns - s.start_ns;
    const size_t width = TextWidth();
    out_ =
        CutToWidth(Name(path_.root), std::min(kMaxName, width / 3)) + ": " + FormatDuration(total_);
    const size_t room = width - DisplayWidth(out_);
    const auto most = std::max_element(times.begin(), times.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    if (most != times.end()) {
      const auto& [what, time] = *most;
      const std::string share = fmt::format(", {} of it in ", Percent(time, total_));
      const std::string kind = what.second == critical_path::PathCategory::kSelf
                                   ? ""
                                   : " (" + CategoryWord(what.second) + ")";
      out_ += share + CutToWidth(Name(what.first), room - share.size() - kind.size()) + kind;
    }
    out_ = Painted(Paint::kVerdict, CutToWidth(out_, width)) + "\n";
  }

  void Rows() {
    TextTable table({"after", "time", "share", "category", "step"}, {0, 1, 2});
    std::vector<Nanos> times;
    for (const ShownSegment& s : segments_) times.push_back(s.end_ns - s.start_ns);
    const std::vector<bool> kept = Longest(times, kMaxRows);
    const auto longest =
        static_cast<size_t>(std::max_element(times.begin(), times.end()) - times.begin());
    size_t left_out = 0;
    Nanos left_out_time = 0;
    const auto tell = [&] {
      if (left_out == 0) return;
      table.Row({"⋮", FormatDuration(left_out_time), Percent(left_out_time, total_), "",
                 fmt::format("{} shorter step{}", left_out, left_out == 1 ? "" : "s")});
      left_out = 0, left_out_time = 0;
    };
    for (size_t i = 0; i < segments_.size(); ++i) {
      const ShownSegment& s = segments_[i];
      if (!kept[i]) {
        ++left_out;
        left_out_time += times[i];
        continue;
      }
      tell();
      std::string step = Name(s.block);
      if (!s.alternatives.empty()) step += fmt::format(" (or {} parallel)", s.alternatives.size());
      table.Row(
          {FormatDuration(SaturatingSub(s.start_ns, path_.start_ns)), FormatDuration(times[i]),
           Percent(times[i], total_), CategoryWord(s.category), step},
          i == longest ? RowMark::kCulprit : RowMark::kNone);
    }
    tell();
    if (segments_.empty())
      out_ += "no time passed between start and end\n";
    else
      out_ += table.Print(TextWidth(), 4);
  }

  const Trace& t_;
  const critical_path::CriticalPath& path_;
  std::vector<ShownSegment> segments_;
  Nanos total_ = 0;
  std::string out_;
};

}  // namespace

std::string StepName(std::string_view service, std::string_view name) {
  return Printable(service) + " " + Printable(name);
}

std::string WhatIfSentence(const critical_path::WhatIfAnswer& answer, Nanos recorded) {
  if (answer.matched == 0) return "what if: no match, so no change";
  const Nanos less = SaturatingSub(recorded, answer.duration_ns);
  std::string change = "no change";
  if (less > 0) change = Percent(less, recorded) + " less";
  if (less < 0) change = Percent(-less, recorded) + " more";
  return fmt::format("what if: {} instead of {}, {} ({} span{} or edge{} matched)",
                     FormatDuration(answer.duration_ns), FormatDuration(recorded), change,
                     answer.matched, answer.matched == 1 ? "" : "s",
                     answer.matched == 1 ? "" : "s");
}

std::string CriticalPathText(const Trace& trace, const critical_path::CriticalPath& path,
                             const std::optional<critical_path::WhatIfAnswer>& what_if) {
  return PathTextWriter(trace, path).Write(what_if);
}

std::string PathPopulation::Text(const std::optional<store::SearchCursor>& next) const {
  if (requests_.empty()) return "no trace matches; wherefore status shows what the store holds\n";
  const std::vector<Component> ranked = Ranked();
  std::string out =
      fmt::format("{}, {} in total", CountOf(requests_.size(), "trace"), FormatDuration(duration_));
  if (!ranked.empty()) {
    const auto& [service, name, category] = ranked[0].key;
    out += fmt::format("; {:.0f}% of it in {}", 100 * Share(ranked[0].part->total),
                       CutToWidth(StepName(service, name), kMaxName));
  }
  out = Painted(Paint::kVerdict, CutToWidth(out, TextWidth())) + "\n";
  if (const auto total = Total()) out += WhatIfSentence(*total, duration_) + "\n";
  if (skipped_ > 0)
    out += CountOf(skipped_, "trace") + " skipped: their times contradict each other\n";
  out += "\n";
  TextTable table({"time", "share", "traces", "category", "component"}, {0, 1, 2});
  Nanos rest = 0;
  for (size_t i = 0; i < ranked.size(); ++i) {
    const auto& [service, name, category] = ranked[i].key;
    const Part& part = *ranked[i].part;
    if (i >= kMaxRows) {
      rest = SaturatingAdd(rest, part.total);
      continue;
    }
    table.Row({FormatDuration(part.total), fmt::format("{:.1f}%", 100 * Share(part.total)),
               std::to_string(part.times.size()), CategoryWord(category), StepName(service, name)});
  }
  if (ranked.size() > kMaxRows) {
    table.Row({FormatDuration(rest), fmt::format("{:.1f}%", 100 * Share(rest)), "", "",
               fmt::format("{} more", ranked.size() - kMaxRows)});
  }
  out += table.Print(TextWidth(), 4);
  if (next)
    out += Painted(Paint::kHint, "more traces match; raise --limit, or continue with --cursor " +
                                     FormatCursor(*next)) +
           "\n";
  return out;
}

}  // namespace wf::answer
