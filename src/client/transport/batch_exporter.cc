#include "client/transport/batch_exporter.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/runtime/background_thread.h"
#include "client/runtime/block_id.h"

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

BatchExporter::BatchExporter(const TracerOptions& options, HttpUrl endpoint, Wire wire,
                             std::string process)
    : options_(options),
      endpoint_(std::move(endpoint)),
      wire_(std::move(wire)),
      process_(std::move(process)),
      token_(TokenFromEnvironment()),
      fork_generation_(ForkGeneration()),
      connection_(endpoint_.host, endpoint_.port) {}

std::shared_ptr<BatchExporter> BatchExporter::Start(const TracerOptions& options, HttpUrl endpoint,
                                                    Wire wire, std::string process) {
  auto exporter = std::make_shared<BatchExporter>(options, std::move(endpoint), std::move(wire),
                                                  std::move(process));
  try {
    exporter->thread_ = StartBackgroundThread("wherefore", [exporter] { exporter->Run(); });
  } catch (const std::system_error& error) {
    exporter->phase_ = Phase::kStopped;
    exporter->last_error_ = std::string("cannot start the export thread: ") + error.what();
  }
  return exporter;
}

std::shared_ptr<BatchExporter> BatchExporter::Unusable(std::string reason) {
  auto exporter =
      std::make_shared<BatchExporter>(TracerOptions{}, HttpUrl{}, Wire{}, std::string());
  exporter->phase_ = Phase::kStopped;
  exporter->last_error_ = std::move(reason);
  return exporter;
}

void BatchExporter::Push(std::string item, uint64_t count) {
  if (ForkGeneration() != fork_generation_) {
    dropped_by_child_.fetch_add(count, std::memory_order_relaxed);
    return;
  }
  const std::lock_guard lock(mutex_);
  stats_.recorded += count;
  if (phase_ != Phase::kRunning || queue_.size() >= options_.queue_blocks ||
      queue_bytes_ + item.size() > options_.queue_bytes) {
    stats_.dropped += count;
    return;
  }
  queue_bytes_ += item.size();
  queue_.emplace_back(std::move(item), count);
  accepted_ += count;
  // Below a batch the thread wakes by its own timer: one wake-up a batch, not one a block.
  if (queue_.size() == wire_.items_per_request) work_.notify_one();
}

void BatchExporter::CountDropped() {
  if (ForkGeneration() != fork_generation_) return;
  const std::lock_guard lock(mutex_);
  ++stats_.recorded;
  ++stats_.dropped;
}

bool BatchExporter::Flush(std::chrono::milliseconds deadline) {
  if (ForkGeneration() != fork_generation_) return false;
  std::unique_lock lock(mutex_);
  const uint64_t goal = accepted_;
  flush_wanted_ = true;
  work_.notify_one();
  return settled_.wait_for(lock, deadline, [&] {
    return stats_.exported + stats_.rejected + stats_.lost >= goal || phase_ == Phase::kStopped;
  }) && stats_.exported + stats_.rejected + stats_.lost >= goal;
}

void BatchExporter::Shutdown(std::chrono::milliseconds deadline) {
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

TracerStats BatchExporter::stats() const {
  if (ForkGeneration() != fork_generation_) {
    TracerStats child;
    child.recorded = child.dropped = dropped_by_child_.load(std::memory_order_relaxed);
    return child;
  }
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::string BatchExporter::LastError() const {
  if (ForkGeneration() != fork_generation_) return "a forked child does not export";
  const std::lock_guard lock(mutex_);
  return last_error_;
}

void BatchExporter::Run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      work_.wait_for(lock, options_.flush_interval, [&] {
        return queue_.size() >= wire_.items_per_request || phase_ != Phase::kRunning ||
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

BatchExporter::Batch BatchExporter::TakeBatch() {
  Batch batch;
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  while (!queue_.empty() && batch.items.size() < wire_.items_per_request &&
         (batch.items.empty() || bytes + queue_.front().first.size() <= kBatchBytes)) {
    bytes += queue_.front().first.size();
    batch.items.push_back(std::move(queue_.front().first));
    batch.count += queue_.front().second;
    queue_.pop_front();
  }
  queue_bytes_ -= bytes;
  return batch;
}

void BatchExporter::SendBatch(const Batch& batch) {
  HttpRequest request;
  request.method = "POST";
  request.path = endpoint_.path;
  request.headers = {{"Content-Type", wire_.content_type}, {"User-Agent", "libwherefore"}};
  if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
  request.body = wire_.encode(process_, batch.items);

  for (int attempt = 1;; ++attempt) {
    const Deadline deadline(options_.request_timeout, &give_up_at_ns_);
    const HttpResponse response = connection_.Send(request, deadline);
    if (Judge(response, batch.count) == Verdict::kDone) return;
    if (attempt >= options_.max_attempts ||
        !SleepUnlessOver(BackoffBefore(attempt + 1, response))) {
      return Settle(0, 0, batch.count,
                    response.status == 0 ? response.error
                                         : "receiver answered " + std::to_string(response.status) +
                                               " to the last attempt");
    }
    const std::lock_guard lock(mutex_);
    ++stats_.retries;
  }
}

BatchExporter::Verdict BatchExporter::Judge(const HttpResponse& response, uint64_t count) {
  if (Retryable(response.status)) return Verdict::kRetry;
  if (response.status < 200 || response.status > 299) {
    Settle(0, count, 0, "receiver answered " + std::to_string(response.status));
    return Verdict::kDone;
  }
  const ExportAnswer answer = wire_.decode(response.message.body);
  const uint64_t rejected = std::min(answer.rejected, count);
  std::string error = answer.reason;
  if (!answer.well_formed) error = "the receiver's answer is malformed";
  Settle(count - rejected, rejected, 0, std::move(error));
  return Verdict::kDone;
}

std::chrono::milliseconds BatchExporter::BackoffBefore(int attempt,
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
bool BatchExporter::SleepUnlessOver(std::chrono::milliseconds duration) {
  const auto until = SteadyClock::now() + duration;
  const auto too_late = [&] {
    return SteadyNs(until) >= give_up_at_ns_.load(std::memory_order_relaxed);
  };
  std::unique_lock lock(mutex_);
  work_.wait_until(lock, until, too_late);
  return !too_late();
}

void BatchExporter::Settle(uint64_t exported, uint64_t rejected, uint64_t lost, std::string error) {
  const std::lock_guard lock(mutex_);
  stats_.exported += exported;
  stats_.rejected += rejected;
  stats_.lost += lost;
  last_error_ = std::move(error);
  settled_.notify_all();
}

}  // namespace wherefore::client
