#include "pipeline/counters.h"

namespace wf::pipeline {

std::atomic<int64_t>& Counters::Named(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto found = counters_.find(name);
  if (found == counters_.end()) {
    found = counters_.emplace(std::string(name), std::make_unique<std::atomic<int64_t>>(0)).first;
  }
  return *found->second;
}

std::map<std::string, int64_t> Counters::Snapshot() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, int64_t> out;
  for (const auto& [name, value] : counters_)
    out.emplace(name, value->load(std::memory_order_relaxed));
  return out;
}

std::string PrometheusText(const std::map<std::string, int64_t>& counters, MetricsFormat format) {
  std::string out;
  for (const auto& [name, value] : counters) {
    std::string metric = "wherefore_";
    for (char c : name) {
      const bool word =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      metric.push_back(word ? c : '_');
    }
    out += "# TYPE " + metric +
           (format == MetricsFormat::kOpenMetrics ? " unknown\n" : " untyped\n") + metric + " " +
           std::to_string(value) + "\n";
  }
  return out;
}

}  // namespace wf::pipeline
