// The waterfall for terminals: one line a block, indented by depth, its bar to the scale of the whole trace.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "answer/frame/text_table.h"
#include "answer/trace/trace_answer.h"
#include "answer/trace/waterfall_json.h"

namespace wf::answer {
namespace {

constexpr int kMaxIndent = 24;  // deeper nesting would leave no room for names

// Exactly `columns` wide, cut with an ellipsis or padded.
std::string Fit(const std::string& text, size_t columns) {
  const std::string cut = CutToWidth(text, columns);
  return cut + std::string(columns - DisplayWidth(cut), ' ');
}

std::string RightAligned(const std::string& text, size_t columns) {
  const size_t have = DisplayWidth(text);
  return have >= columns ? text : std::string(columns - have, ' ') + text;
}

class TextWriter {
 public:
  TextWriter(const Trace& trace, const TraceTextOptions& options)
      : t_(trace), o_(options), own_(OwnTimes(trace)), order_(DepthFirst(trace)) {
    const int width = std::max(60, options.width);
    label_ = static_cast<size_t>((width - 26) * 11 / 20);
    bar_ = static_cast<size_t>(width - 26) - label_;
    const auto largest = std::max_element(own_.begin(), own_.end());
    if (largest != own_.end() && *largest > 0)
      largest_ = static_cast<uint32_t>(largest - own_.begin());
  }

  std::string Write() {
    Header();
    const size_t rows = order_.blocks.size();
    const bool cut = o_.max_rows != 0 && rows > o_.max_rows;
    const size_t head = cut ? (o_.max_rows + 1) / 2 : rows, tail = cut ? o_.max_rows - head : 0;
    for (size_t i = 0; i < head; ++i) Row(i);
    if (cut) out_ += Paint("2", fmt::format("  ⋮ {} more spans", rows - head - tail)) + "\n";
    for (size_t i = rows - tail; i < rows; ++i) Row(i);
    Footer();
    return out_;
  }

 private:
  std::string Paint(std::string_view code, std::string text) const {
    return o_.color == TextColor::kAnsi ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  void Header() {
    std::set<std::string_view> services;
    for (const Block& block : t_.blocks) {
      if (!block.stand_in()) services.insert(t_.service(block));
    }
    const auto count = [&](auto holds) {
      return std::count_if(t_.blocks.begin(), t_.blocks.end(), holds);
    };
    const auto spans = count([](const Block& b) { return !b.stand_in(); });
    const auto errors = count([](const Block& b) { return b.status == SpanStatus::kError; });
    out_ += Paint("1", "trace " + ToHex(t_.id)) + "\n";
    out_ += fmt::format("{} · {} · {} span{} · {} service{}", FormatInstant(t_.start_ns),
                        FormatDuration(SaturatingSub(t_.end_ns, t_.start_ns)), spans,
                        spans == 1 ? "" : "s", services.size(), services.size() == 1 ? "" : "s");
    if (errors != 0)
      out_ += Paint("31", fmt::format(" · {} error{}", errors, errors == 1 ? "" : "s"));
    out_ += "\n" + CompletenessSentence(t_) + "\n\n";
    out_ += Paint("2", Fit("service · name", label_) + " " + Fit("", bar_) +
                           RightAligned("time", 11) + RightAligned("own", 11)) +
            "\n";
  }

  std::string Bar(const Block& block) const {
    const double total =
        std::max<double>(1, static_cast<double>(SaturatingSub(t_.end_ns, t_.start_ns)));
    const auto cell = [&](Nanos time) {
      return static_cast<double>(SaturatingSub(time, t_.start_ns)) / total *
             static_cast<double>(bar_);
    };
    const auto from = std::min(bar_ - 1, static_cast<size_t>(cell(block.start_ns)));
    const auto to =
        std::max(from + 1, std::min(bar_, static_cast<size_t>(cell(block.end_ns) + 0.999)));
    std::string fill;
    const char* glyph = block.stand_in() ? "░" : block.kind == BlockKind::kWait ? "▒" : "█";
    if (block.duration() == 0) glyph = "▏";
    for (size_t i = from; i < to; ++i) fill += glyph;
    const char* color = block.status == SpanStatus::kError ? "31" : block.async() ? "36" : "34";
    return std::string(from, ' ') + Paint(color, fill) + std::string(bar_ - to, ' ');
  }

  void Row(size_t i) {
    const uint32_t b = order_.blocks[i];
    const Block& block = t_.blocks[b];
    const int indent = std::min<int>(kMaxIndent, static_cast<int>(order_.depth[i]) * 2);
    const std::string service = Printable(t_.service(block)), name = Printable(t_.str(block.name));
    std::string label =
        Fit(std::string(static_cast<size_t>(indent), ' ') + service + " · " + name, label_);
    if (b == largest_) label = Paint("1", label);
    std::string marks;
    if (block.status == SpanStatus::kError) marks += Paint("31", "✗");
    if ((block.marks & kBlockRepaired) || block.source != Source::kRecorded) marks += "~";
    out_ += label + " " + Bar(block) + RightAligned(FormatDuration(block.duration()), 11) +
            RightAligned(FormatDuration(own_[b]), 11);
    if (!marks.empty()) out_ += " " + marks;
    out_ += "\n";
  }

  void Footer() {
    out_ += "\n";
    if (largest_ == kNone) return;
    const Block& block = t_.blocks[largest_];
    const Nanos total = SaturatingSub(t_.end_ns, t_.start_ns);
    const double share =
        total <= 0 ? 0 : 100.0 * static_cast<double>(own_[largest_]) / static_cast<double>(total);
    const std::string times = fmt::format(" {} of {} ({:.0f}%)\n", FormatDuration(own_[largest_]),
                                          FormatDuration(total), share);
    const std::string head = "longest own time: ";
    std::string what = Printable(t_.service(block)) + " " + Printable(t_.str(block.name));
    const size_t room = label_ + bar_ + 26 - head.size() - DisplayWidth(times);
    if (DisplayWidth(what) > room) what = CutToWidth(what, room);
    out_ += head + what + times;
  }

  const Trace& t_;
  const TraceTextOptions& o_;
  std::vector<Nanos> own_;
  WaterfallOrder order_;
  size_t label_ = 0, bar_ = 0;
  uint32_t largest_ = kNone;
  std::string out_;
};

}  // namespace

std::string CompletenessSentence(const Trace& trace) {
  std::string out;
  if (trace.complete) {
    out = "complete";
  } else {
    std::vector<std::pair<std::string, size_t>> parts;
    for (const Missing& missing : trace.missing) {
      const std::string what(MissingWhatName(missing.what));
      if (parts.empty() || parts.back().first != what) parts.emplace_back(what, 0);
      ++parts.back().second;
    }
    const auto roots = trace.repair_counts[static_cast<size_t>(RepairPass::kSeveralRoots)];
    out = "incomplete";
    const char* separator = ": ";
    for (const auto& [what, count] : parts) {
      out += fmt::format("{}{} {}{} missing", separator, count, what, count == 1 ? "" : "s");
      separator = ", ";
    }
    if (roots > 0) out += fmt::format("{}{} roots", separator, roots + 1);
    if (!trace.missing.empty())
      out += trace.missing[0].may_still_come ? "; may still arrive" : "; will not arrive";
  }
  if (trace.rebuilt) out += "; rebuilt after late spans";
  if (!trace.usable()) out += "; contradicts itself, not used for features";
  if (trace.clock_error_ns > 0)
    out += fmt::format("; clocks within {}", FormatDuration(trace.clock_error_ns));
  return out;
}

std::string TraceText(const Trace& trace, const TraceTextOptions& options) {
  return TextWriter(trace, options).Write();
}

}  // namespace wf::answer
