// Blacklist: traces of which no more is stored, because they have too many events or go on for too long (Canopy §4.2).
// Their later events are counted and dropped before the store sees them. Kept in a file, so that a restart does not let
// them in again; the list is short, because whoever is on it has sent a million events or for a day.
//
// Thread safety: all calls, from any thread. While the list is empty, Filter costs one atomic load a batch.
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
  // For those who look at one event after another, and drop what is listed themselves.
  bool Lists(const TraceKey& key) const;
  void CountDropped(int64_t events) { dropped_.fetch_add(events, std::memory_order_relaxed); }

  size_t size() const { return size_.load(std::memory_order_relaxed); }
  int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  explicit Blacklist(std::string path) : path_(std::move(path)) {}
  // Beyond this the oldest would have to go; nobody has seen a tenth of it.
  static constexpr size_t kMost = 100'000;

  const std::string path_;
  mutable std::shared_mutex mutex_;
  std::set<TraceKey> keys_;
  std::atomic<size_t> size_{0};
  std::atomic<int64_t> dropped_{0};
};

// How long a trace may get, for those who store events without the tailer's cache: import.
struct TraceLimits {
  Blacklist* refused = nullptr;  // borrowed; null: no trace is refused
  int64_t max_events = INT64_MAX;
};

}  // namespace wf::pipeline
