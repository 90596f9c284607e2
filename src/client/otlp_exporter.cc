#include "client/otlp_exporter.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/block_id.h"
#include "client/otlp_encoder.h"

namespace wherefore::client {
namespace {

// A request stays well below the 4 MiB that OpenTelemetry's own receivers accept.
constexpr size_t kBatchBytes = 1 << 20;

std::string TokenFromEnvironment() {
  const char* token = std::getenv("WHEREFORE_TOKEN");
  return token != nullptr ? token : "";
}

bool Retryable(int status) {
  // OTLP/HTTP: these four, and no answer at all.
  return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

OtlpExporter::OtlpExporter(const TracerOptions& options, HttpUrl endpoint, std::string process)
    : options_(options),
      endpoint_(std::move(endpoint)),
      process_(std::move(process)),
      token_(TokenFromEnvironment()),
      fork_generation_(ForkGeneration()),
      connection_(endpoint_.host, endpoint_.port) {}

std::shared_ptr<OtlpExporter> OtlpExporter::Start(const TracerOptions& options, HttpUrl endpoint,
                                                  std::string process) {
  auto exporter = std::make_shared<OtlpExporter>(options, std::move(endpoint), std::move(process));
  // The host's signal handlers must not run on our thread: block everything before it starts.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    exporter->thread_ = std::thread([exporter] { exporter->Run(); });
  } catch (const std::system_error& error) {
    exporter->phase_ = Phase::kStopped;
    exporter->last_error_ = std::string("cannot start the export thread: ") + error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return exporter;
}

std::shared_ptr<OtlpExporter> OtlpExporter::Unusable(std::string reason) {
  auto exporter = std::make_shared<OtlpExporter>(TracerOptions{}, HttpUrl{}, std::string());
  exporter->phase_ = Phase::kStopped;
  exporter->last_error_ = std::move(reason);
  return exporter;
}

void OtlpExporter::Push(std::string block) {
  if (ForkGeneration() != fork_generation_) {
    dropped_by_child_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::lock_guard lock(mutex_);
  ++stats_.recorded;
  if (phase_ != Phase::kRunning || queue_.size() >= options_.queue_blocks ||
      queue_bytes_ + block.size() > options_.queue_bytes) {
    ++stats_.dropped;
    return;
  }
  queue_bytes_ += block.size();
  queue_.push_back(std::move(block));
  ++accepted_;
  // Below a batch the thread wakes by its own timer: one wake-up a batch, not one a block.
  if (queue_.size() == options_.batch_blocks) work_.notify_one();
}

void OtlpExporter::CountDropped() {
  if (ForkGeneration() != fork_generation_) return;
  const std::lock_guard lock(mutex_);
  ++stats_.recorded;
  ++stats_.dropped;
}

bool OtlpExporter::Flush(std::chrono::milliseconds deadline) {
  if (ForkGeneration() != fork_generation_) return false;
  std::unique_lock lock(mutex_);
  const uint64_t goal = accepted_;
  flush_wanted_ = true;
  work_.notify_one();
  return settled_.wait_for(lock, deadline, [&] {
    return stats_.exported + stats_.rejected + stats_.lost >= goal || phase_ == Phase::kStopped;
  }) && stats_.exported + stats_.rejected + stats_.lost >= goal;
}

void OtlpExporter::Shutdown(std::chrono::milliseconds deadline) {
  if (ForkGeneration() != fork_generation_) {
    if (thread_.joinable()) thread_.detach();  // it does not exist in this process
    return;
  }
  const auto until = SteadyClock::now() + deadline;
  std::unique_lock lock(mutex_);
  if (phase_ == Phase::kRunning) {
    phase_ = Phase::kStopping;
    // The last tenth is kept for noticing and for taking leave.
    give_up_at_ns_.store(SteadyNs(until - deadline / 10), std::memory_order_relaxed);
    work_.notify_one();
  }
  const bool stopped = settled_.wait_until(lock, until, [&] { return phase_ == Phase::kStopped; });
  if (!thread_.joinable()) return;
  std::thread thread = std::move(thread_);
  lock.unlock();
  if (stopped) {
    thread.join();
  } else {
    thread.detach();
  }
}

TracerStats OtlpExporter::stats() const {
  if (ForkGeneration() != fork_generation_) {
    TracerStats child;
    child.recorded = child.dropped = dropped_by_child_.load(std::memory_order_relaxed);
    return child;
  }
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::string OtlpExporter::LastError() const {
  if (ForkGeneration() != fork_generation_) return "a forked child does not export";
  const std::lock_guard lock(mutex_);
  return last_error_;
}

void OtlpExporter::Run() {
  pthread_setname_np(pthread_self(), "wherefore");
  while (true) {
    {
      std::unique_lock lock(mutex_);
      work_.wait_for(lock, options_.flush_interval, [&] {
        return queue_.size() >= options_.batch_blocks || phase_ != Phase::kRunning ||
               (flush_wanted_ && !queue_.empty());
      });
      if (queue_.empty()) {
        flush_wanted_ = false;
        if (phase_ == Phase::kRunning) continue;
        phase_ = Phase::kStopped;
        settled_.notify_all();
        return;
      }
    }
    SendBatch(TakeBatch());
  }
}

std::vector<std::string> OtlpExporter::TakeBatch() {
  std::vector<std::string> batch;
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  while (!queue_.empty() && batch.size() < options_.batch_blocks &&
         (batch.empty() || bytes + queue_.front().size() <= kBatchBytes)) {
    bytes += queue_.front().size();
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  queue_bytes_ -= bytes;
  return batch;
}

void OtlpExporter::SendBatch(const std::vector<std::string>& blocks) {
  HttpRequest request;
  request.method = "POST";
  request.path = endpoint_.path;
  request.headers = {{"Content-Type", "application/x-protobuf"}, {"User-Agent", "libwherefore"}};
  if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
  request.body = EncodeRequest(process_, blocks);

  for (int attempt = 1;; ++attempt) {
    const Deadline deadline(options_.request_timeout, &give_up_at_ns_);
    const HttpResponse response = connection_.Send(request, deadline);
    if (Judge(response, blocks.size()) == Verdict::kDone) return;
    if (attempt >= options_.max_attempts ||
        !SleepUnlessOver(BackoffBefore(attempt + 1, response))) {
      return Settle(0, 0, blocks.size(),
                    response.status == 0 ? response.error
                                         : "receiver answered " + std::to_string(response.status) +
                                               " to the last attempt");
    }
    const std::lock_guard lock(mutex_);
    ++stats_.retries;
  }
}

OtlpExporter::Verdict OtlpExporter::Judge(const HttpResponse& response, uint64_t blocks) {
  if (Retryable(response.status)) return Verdict::kRetry;
  if (response.status < 200 || response.status > 299) {
    Settle(0, blocks, 0, "receiver answered " + std::to_string(response.status));
    return Verdict::kDone;
  }
  const ExportAnswer answer = DecodeAnswer(response.message.body);
  const uint64_t rejected = std::min(answer.rejected, blocks);
  std::string error = answer.reason;
  if (!answer.well_formed) error = "the receiver's answer is not OTLP protobuf";
  Settle(blocks - rejected, rejected, 0, std::move(error));
  return Verdict::kDone;
}

std::chrono::milliseconds OtlpExporter::BackoffBefore(int attempt,
                                                      const HttpResponse& response) const {
  auto backoff = options_.first_backoff;
  for (int i = 2; i < attempt && backoff < options_.max_backoff; ++i) backoff *= 2;
  // Only the form in seconds: clocks of two hosts need not agree on a date.
  const std::string text(response.message.Header("retry-after"));
  if (!text.empty() && text.size() <= 6 &&
      text.find_first_not_of("0123456789") == std::string::npos) {
    backoff = std::chrono::seconds(std::atoi(text.c_str()));
  }
  return std::min(backoff, options_.max_backoff);
}

// False when there is no time left for another attempt after the sleep.
bool OtlpExporter::SleepUnlessOver(std::chrono::milliseconds duration) {
  const auto until = SteadyClock::now() + duration;
  const auto too_late = [&] {
    return SteadyNs(until) >= give_up_at_ns_.load(std::memory_order_relaxed);
  };
  std::unique_lock lock(mutex_);
  work_.wait_until(lock, until, too_late);
  return !too_late();
}

void OtlpExporter::Settle(uint64_t exported, uint64_t rejected, uint64_t lost, std::string error) {
  const std::lock_guard lock(mutex_);
  stats_.exported += exported;
  stats_.rejected += rejected;
  stats_.lost += lost;
  last_error_ = std::move(error);
  settled_.notify_all();
}

}  // namespace wherefore::client
