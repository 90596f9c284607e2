#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace wf::cli {
namespace {

constexpr Nanos kTerminalPeriod = 100 * kMilli;
constexpr Nanos kLinePeriod = 5 * kSecond;
constexpr int kBarWidth = 40;

}  // namespace

ProgressBar::ProgressBar(std::string what, int64_t total_bytes, const std::string& format)
    : what_(std::move(what)),
      total_(total_bytes),
      silent_(format == "json"),
      terminal_(::isatty(STDERR_FILENO) != 0),
      last_ns_(MonotonicNow()) {}

void ProgressBar::Show(size_t bytes) {
  if (silent_) return;
  const Nanos now = MonotonicNow();
  if (now - last_ns_ < (terminal_ ? kTerminalPeriod : kLinePeriod)) return;
  last_ns_ = now;
  const double share =
      total_ > 0 ? std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total_)) : 0;
  const double done = static_cast<double>(bytes) / 1e6, all = static_cast<double>(total_) / 1e6;
  if (!terminal_) {
    std::fprintf(stderr, "%s: %.1f of %.1f MB\n", what_.c_str(), done, all);
    return;
  }
  const int filled = static_cast<int>(share * kBarWidth);
  std::string bar;
  for (int i = 0; i < kBarWidth; ++i) bar += i < filled ? "█" : "░";
  std::fprintf(stderr, "\r%s %s %3.0f%%  %.1f of %.1f MB\033[K", what_.c_str(), bar.c_str(),
               share * 100, done, all);
  shown_ = true;
}

void ProgressBar::Finish() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

ProgressCount::ProgressCount(std::string what, const std::string& format, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      silent_(format == "json"),
      terminal_(::isatty(STDERR_FILENO) != 0),
      last_ns_(MonotonicNow()) {}

void ProgressCount::Show(int64_t count) {
  if (silent_) return;
  const Nanos now = MonotonicNow();
  if (now - last_ns_ < (terminal_ ? kTerminalPeriod : kLinePeriod)) return;
  last_ns_ = now;
  std::fprintf(stderr, terminal_ ? "\r%s %lld %s\033[K" : "%s %lld %s\n", what_.c_str(),
               static_cast<long long>(count), unit_.c_str());
  shown_ = terminal_;
}

void ProgressCount::Finish() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace wf::cli
