#include "cli/live_end.h"

#include <csignal>

namespace wf {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void EndOnInterrupt() {
  struct sigaction stop = {};
  stop.sa_handler = [](int) { interrupted = 1; };
  stop.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &stop, nullptr);
  ::sigaction(SIGTERM, &stop, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

bool Interrupted() { return interrupted != 0; }

Result<Nanos> PositiveDuration(const char* flag, const std::string& text) {
  const auto duration = ParseDuration(text);
  if (!duration.ok())
    return BadInput(std::string(flag) + ": " + duration.error().message, duration.error().hint);
  if (*duration <= 0)
    return BadInput(std::string(flag) + " " + text + ": that is no time", "as in 10s");
  return *duration;
}

}  // namespace wf
