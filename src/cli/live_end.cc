#include "cli/live_end.h"

#include <csignal>

#include "cli/interrupt.h"

namespace wf::cli {

void EndOnInterrupt() {
  StopOnInterrupt();
  ::signal(SIGPIPE, SIG_IGN);
}

Result<Nanos> PositiveDuration(const char* flag, const std::string& text) {
  const auto duration = ParseDuration(text);
  if (!duration.ok())
    return BadInput(std::string(flag) + ": " + duration.error().message, duration.error().hint);
  if (*duration <= 0)
    return BadInput(std::string(flag) + " " + text + ": not a duration", "as in 10s");
  return *duration;
}

}  // namespace wf::cli
