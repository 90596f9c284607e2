#include "client/tracer/stack_sampler.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "client/events/event_ring.h"
#include "client/tracer/tracer_core.h"
#include "wherefore/thread_state.h"

namespace wherefore::client {
namespace {

constexpr int kMaxFrames = 64;
constexpr int kOwnFrames = 2;  // the handler, and the kernel's return trampoline

std::atomic<int64_t> interval_us{0};
std::mutex install_mutex;

// Async-signal-safe: reads and writes this thread's own memory only. backtrace() was called once before, so that the
// unwinder is loaded.
void TakeSample(int, siginfo_t*, void*) {
  const internal::ThreadState& state = internal::thread_state;
  const bool wanted = interval_us.load(std::memory_order_relaxed) != 0 && state.ring != nullptr &&
                      state.unit != 0 && state.recording > static_cast<uint8_t>(Detail::kInternals);
  if (!wanted || state.writing != 0) return;
  const int error = errno;
  void* frames[kMaxFrames];
  const int depth = backtrace(frames, kMaxFrames);
  if (depth > kOwnFrames) {
    const std::string_view bytes(reinterpret_cast<const char*>(frames + kOwnFrames),
                                 static_cast<size_t>(depth - kOwnFrames) * sizeof(void*));
    const Annotation annotations[] = {{AnnotationKind::kName, {}, "sample"},
                                      {AnnotationKind::kFrames, "cpu", bytes}};
    // Not NewBlockId: the generator may be at work just below us. Time and address tell threads and samples apart.
    const auto ticks = static_cast<uint64_t>(Ticks());
    uint64_t id = (ticks ^ reinterpret_cast<uint64_t>(&state) << 20) * 0x9E3779B97F4A7C15ull;
    id ^= id >> 29;
    auto* core =
        static_cast<TracerCore*>(const_cast<void*>(static_cast<EventRing*>(state.ring)->owner()));
    core->EmitFromSignal(Here(EventType::kPoint, id | 1, state.block), annotations, 2);
  }
  errno = error;
}

}  // namespace

bool StartStackSampling(std::chrono::microseconds interval) {
  const std::lock_guard lock(install_mutex);
  struct sigaction before {};
  sigaction(SIGPROF, nullptr, &before);
  const bool ours = (before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction == TakeSample;
  const bool free = (before.sa_flags & SA_SIGINFO) == 0 &&
                    (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN);
  if (!ours && !free) return false;
  if (!ours) {
    void* frames[4];
    backtrace(frames, 4);  // loads the unwinder, which allocates
    struct sigaction action {};
    action.sa_sigaction = TakeSample;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGPROF, &action, nullptr) != 0) return false;
  }
  interval_us.store(std::max<int64_t>(1000, interval.count()), std::memory_order_relaxed);
  return true;
}

void StopStackSampling() { interval_us.store(0, std::memory_order_relaxed); }

std::chrono::microseconds StackSamplingInterval() {
  return std::chrono::microseconds(interval_us.load(std::memory_order_relaxed));
}

void RequestStackSample(int64_t thread_id) {
  syscall(SYS_tgkill, getpid(), static_cast<pid_t>(thread_id), SIGPROF);
}

}  // namespace wherefore::client
