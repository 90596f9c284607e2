// Counters: everything accepted, rejected, repaired or dropped is counted by name; /metrics, `status` and the
// UI show them. Names are lower-case words joined by `_`, as Prometheus wants them. Thread safety: all calls,
// from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "pipeline/red_metrics.h"

namespace wf::pipeline {

class Counters {
 public:
  // The counter of that name, created if missing; valid for the life of this object. Hot paths keep the
  // reference.
  std::atomic<int64_t>& Named(std::string_view name);
  void Add(std::string_view name, int64_t n) {
    Named(name).fetch_add(n, std::memory_order_relaxed);
  }
  std::map<std::string, int64_t> Snapshot() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<std::atomic<int64_t>>, std::less<>> counters_;
};

// A snapshot as text: one untyped counter per line, prefixed wherefore_.
std::string PrometheusText(const std::map<std::string, int64_t>& counters, MetricsFormat format);

}  // namespace wf::pipeline
