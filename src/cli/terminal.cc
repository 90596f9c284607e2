#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace wf::cli {
namespace {

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

answer::TextColor ColorOf(const std::string& choice, int descriptor) {
  if (choice == "always") return answer::TextColor::kAnsi;
  // https://no-color.org: an empty value counts as unset.
  const bool wanted = choice == "auto" && Variable("NO_COLOR").empty() &&
                      Variable("TERM") != "dumb" && ::isatty(descriptor) == 1;
  return wanted ? answer::TextColor::kAnsi : answer::TextColor::kPlain;
}

answer::TextStyle StyleOfOutput(const std::string& color) {
  answer::TextStyle style;
  style.color = ColorOf(color, STDOUT_FILENO);
  winsize size = {};
  if (::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col != 0) {
    style.width = static_cast<size_t>(
        std::clamp<int64_t>(size.ws_col, answer::kMinTextWidth, answer::kMaxTextWidth));
  }
  return style;
}

}  // namespace wf::cli
