#include "net/io_threads.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>

#include "net/io_context.h"

namespace wf::net {

constexpr int kMaxDrained = 100'000;

IoThreads::IoThreads(int threads) : impl_(std::make_shared<Impl>(std::max(threads, 1))) {
  for (int i = 0; i < std::max(threads, 1); ++i) {
    impl_->threads.emplace_back([impl = impl_.get()] { impl->context.run(); });
    pthread_setname_np(impl_->threads.back().native_handle(), "wf-io");
  }
}

IoThreads::~IoThreads() { Stop(); }

void IoThreads::Stop() {
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->stopped) return;
    impl_->stopped = true;
  }
  impl_->cpu_time_of_ended = CpuTime();
  impl_->work.reset();
  impl_->context.stop();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
  // Operations cancelled by closing still have to be completed. Run them: they own connections, which own the
  // server's state, which owns this Impl, so they would keep each other alive. The bound is for a server that
  // was not stopped and whose clients keep sending.
  impl_->context.restart();
  for (int i = 0; i < kMaxDrained && impl_->context.poll_one() > 0; ++i) {
  }
}

Nanos IoThreads::CpuTime() const {
  Nanos total = impl_->cpu_time_of_ended;
  for (std::thread& thread : impl_->threads) {
    clockid_t clock;
    timespec time;
    if (pthread_getcpuclockid(thread.native_handle(), &clock) == 0 &&
        clock_gettime(clock, &time) == 0) {
      total += time.tv_sec * kSecond + time.tv_nsec;
    }
  }
  return total;
}

}  // namespace wf::net
