#include "cli/interrupt.h"

#include <csignal>

namespace wf::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void StopOnInterrupt() {
  struct sigaction stop = {};
  stop.sa_handler = [](int) { interrupted = 1; };
  stop.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &stop, nullptr);
  ::sigaction(SIGTERM, &stop, nullptr);
}

bool Interrupted() { return interrupted != 0; }

}  // namespace wf::cli
