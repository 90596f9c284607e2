#include "recorder/preload/outside_signals.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstring>

#include "recorder/preload/data/text.h"
#include "recorder/preload/raw_calls.h"

namespace wf::recorder {
namespace {

// The recorder's own: blocked for a moment while one of its handlers runs, and nothing to be passed on.
constexpr uint64_t Bit(int signal) { return uint64_t{1} << (signal - 1); }
constexpr uint64_t kOurs = Bit(SIGSYS) | Bit(SIGSEGV) | Bit(kControlSignal);

uint64_t MaskOf(const char* status, const char* name) {
  const char* found = std::strstr(status, name);
  if (found == nullptr) return 0;
  found += std::strlen(name);
  return data::ReadHex(&found);
}

}  // namespace

void LookForOutsideSignals(Region* region) {
  const uint32_t process = region->signals_of.load(std::memory_order_acquire);
  if (process == 0) return;
  char path[32], status[4096];
  data::AppendText(data::AppendNumber(data::AppendText(path, "/proc/"), process), "/status");
  const long fd = RawCall(SYS_openat, AT_FDCWD, Arg(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const long size = RawCall(SYS_read, fd, Arg(status), sizeof status - 1);
  RawCall(SYS_close, fd);
  status[size < 0 ? 0 : size] = 0;
  const uint64_t waiting = MaskOf(status, "ShdPnd:\t") & MaskOf(status, "SigBlk:\t") & ~kOurs;
  if (waiting == 0) return;
  region->signals_waiting.fetch_or(waiting);
  siginfo_t info = {};
  info.si_signo = kControlSignal;
  info.si_code = SI_QUEUE;
  info.si_value.sival_ptr = reinterpret_cast<void*>(region->signals_word.load());
  RawCall(SYS_rt_sigqueueinfo, process, kControlSignal, Arg(&info));
}

}  // namespace wf::recorder
