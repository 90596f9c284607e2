// Blacklist: traces that are no longer stored, because they have too many events or last too long (Canopy
// §4.2). Their later events are counted and dropped before they reach the store. The list is kept in a file,
// so that a restart does not admit them again; it is short, because a listed trace has sent a million events
// or lasted for a day.
//
// Thread safety: all calls, from any thread. While the list is empty, Filter costs one atomic load per batch.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>

#include "model/event_batch.h"
#include "pipeline/trace_cache.h"

namespace wf::pipeline {

class Blacklist {
 public:
  // `path`: the file, read now. Empty: in memory only.
  static Result<std::unique_ptr<Blacklist>> Open(std::string path);

  Status Add(const TraceKey& key);
  // Removes the rows of listed traces from a batch and returns how many there were.
  int64_t Filter(EventBatch& batch);
  // For callers that check one event at a time and drop listed ones themselves.
  bool Lists(const TraceKey& key) const;
  void CountDropped(int64_t events) { dropped_.fetch_add(events, std::memory_order_relaxed); }

  size_t size() const { return size_.load(std::memory_order_relaxed); }
  int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  explicit Blacklist(std::string path) : path_(std::move(path)) {}
  // Beyond this the oldest would have to go; a tenth of it has never been seen.
  static constexpr size_t kMost = 100'000;

  const std::string path_;
  mutable std::shared_mutex mutex_;
  std::set<TraceKey> keys_;
  std::atomic<size_t> size_{0};
  std::atomic<int64_t> dropped_{0};
};

// How long a trace may get, for code that stores events without the tailer's cache: import.
struct TraceLimits {
  Blacklist* refused = nullptr;  // borrowed; null: no trace is rejected
  int64_t max_events = INT64_MAX;
};

}  // namespace wf::pipeline
