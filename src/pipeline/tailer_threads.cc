// The tailer's threads. All but the fetcher run at a lower priority than the threads that receive and answer: the tailer
// yields, and what it then cannot do in time goes to the delayed queue. The fetcher does not, because it must keep up
// with what is received; its share is a few per cent.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "log/log.h"
#include "pipeline/pipeline.h"

namespace wf::pipeline {
namespace {

// Not lower: a thread that hardly runs keeps the store's locks for long, and a stop waits for it.
constexpr int kLowPriority = 10;
// While events arrive, the delayed extractor rests this many times as long as it worked.
constexpr Nanos kRest = 3;
constexpr Nanos kIdle = 100 * kMilli;
constexpr Nanos kWritePeriod = 100 * kMilli;
constexpr Nanos kSyncPeriod = kSecond;

// Linux keeps the nice value by thread.
void Yield(int nice) {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), nice);
}

}  // namespace

void Tailer::StartThreads() {
  if (options_.threads == TailerOptions::Threads::kNone) return;
  threads_.emplace_back([this] { RunFetcher(); });
  for (int i = 0; i < options_.builders; ++i) threads_.emplace_back([this] { RunBuilder(); });
  for (int i = 0; i < options_.extractors; ++i) threads_.emplace_back([this] { RunExtractor(); });
  threads_.emplace_back([this] { RunWriter(); });

  threads_.emplace_back([this] { RunDelayed(); });
}

bool Tailer::Wait(Nanos time) {
  std::unique_lock lock(mutex_);
  return !wake_all_.wait_for(lock, std::chrono::nanoseconds(time), [&] { return stopping_; });
}

void Tailer::RunFetcher() {
  for (;;) {
    const Nanos until_due = cache_.NextDue().value_or(INT64_MAX) - clock();
    {
      std::unique_lock lock(mutex_);
      wake_fetcher_.wait_for(lock, std::chrono::nanoseconds(std::clamp<Nanos>(until_due, 0, kIdle)),
                             [&] { return stopping_ || !inbox_.empty(); });
      if (stopping_) return;
    }
    // Timeouts are looked at between batches too: under full load the inbox may never be empty.
    for (int batches = 0; batches < 256 && Fetch(); ++batches) {
    }
    Trigger();
  }
}

void Tailer::RunBuilder() {
  Yield(kLowPriority);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_builder_.wait(lock, [&] { return stopping_ || !due_.empty(); });
      if (stopping_) return;
    }
    Build();
  }
}

void Tailer::RunExtractor() {
  Yield(kLowPriority);
  do {
    while (Extract(kIdle)) {
    }
  } while (Wait(0));
}

void Tailer::RunWriter() {
  Yield(kLowPriority);
  Nanos synced = clock();
  while (Wait(kWritePeriod)) {
    Write();
    if (const Nanos now = clock(); now - synced >= kSyncPeriod) {
      synced = now;
      if (const Status status = delayed_->Sync(); !status.ok() && log::LogOnce("delayed sync"))
        log::Error("the delayed queue: {}", status.error().message);
      SaveProgress(Now());
    }
  }
}

void Tailer::RunDelayed() {
  Yield(kLowPriority);
  int64_t events = 0;
  for (;;) {
    const Nanos began = clock();
    const bool busy = LookThroughUnseen() || ExtractDelayed();
    const int64_t arrived = cache_.Counts().events;
    const bool receiving = std::exchange(events, arrived) != arrived;
    if (!Wait(!busy ? kIdle : receiving ? std::min(kRest * (clock() - began), kSecond) : 0)) return;
  }
}

}  // namespace wf::pipeline
