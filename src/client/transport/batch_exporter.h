// Takes encoded items (OTLP spans, or whole bodies of events) from any thread and sends them in batches from a
// background thread.
//
// The host's threads only ever take a mutex that guards a push; the background thread never holds
// it while it talks to the network. A full queue drops the new item and counts it. A batch that
// gets a retryable answer is tried again within bounds, meanwhile the queue fills and then drops:
// memory stays bounded whatever the receiver does.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/events/otlp_encoder.h"
#include "client/runtime/deadline.h"
#include "client/transport/http_connection.h"
#include "wherefore/tracer.h"

namespace wherefore::client {

// How one protocol's requests and answers look.
struct Wire {
  std::string content_type;
  size_t items_per_request = 1;
  std::string (*encode)(const std::string& process,
                        const std::vector<std::string>& items) = nullptr;
  ExportAnswer (*decode)(std::string_view answer) = nullptr;
};

// Thread-safe. Owned jointly by the tracer and its background thread: see Shutdown.
class BatchExporter {
 public:
  // `process` is what encode() gets. Starts the background thread.
  static std::shared_ptr<BatchExporter> Start(const TracerOptions& options, HttpUrl endpoint,
                                              Wire wire, std::string process);
  // Counts everything as dropped: for an endpoint we cannot use. `reason` becomes LastError().
  static std::shared_ptr<BatchExporter> Unusable(std::string reason);

  BatchExporter(const TracerOptions& options, HttpUrl endpoint, Wire wire, std::string process);

  // `count`: how many blocks or events the item holds.
  void Push(std::string item, uint64_t count = 1);
  void CountDropped();  // a block that could not even be encoded
  bool Flush(std::chrono::milliseconds deadline);
  // If the thread is stuck in the name resolver at the deadline it is left behind, and ends by itself.
  void Shutdown(std::chrono::milliseconds deadline);

  TracerStats stats() const;
  std::string LastError() const;

 private:
  enum class Verdict { kDone, kRetry };
  enum class Phase { kRunning, kStopping, kStopped };

  void Run();
  struct Batch {
    std::vector<std::string> items;
    uint64_t count = 0;
  };
  Batch TakeBatch();
  void SendBatch(const Batch& batch);
  Verdict Judge(const HttpResponse& response, uint64_t count);
  std::chrono::milliseconds BackoffBefore(int attempt, const HttpResponse& response) const;
  bool SleepUnlessOver(std::chrono::milliseconds duration);
  void Settle(uint64_t exported, uint64_t rejected, uint64_t lost, std::string error);

  const TracerOptions options_;
  const HttpUrl endpoint_;
  const Wire wire_;
  const std::string process_;
  const std::string token_;
  const uint32_t fork_generation_;

  // Steady ns after which the thread must not wait for anything; brought forward by Shutdown.
  std::atomic<int64_t> give_up_at_ns_{Deadline::kNever};
  std::atomic<uint64_t> dropped_by_child_{0};  // after fork(): the mutex may be held for ever

  mutable std::mutex mutex_;
  std::condition_variable work_;                        // the background thread waits here
  std::condition_variable settled_;                     // Flush and Shutdown wait here
  std::deque<std::pair<std::string, uint64_t>> queue_;  // item, how many it holds
  size_t queue_bytes_ = 0;
  uint64_t accepted_ = 0;  // that ever entered the queue
  bool flush_wanted_ = false;
  Phase phase_ = Phase::kRunning;
  TracerStats stats_;
  std::string last_error_;

  HttpConnection connection_;  // background thread only
  std::thread thread_;
};

}  // namespace wherefore::client
