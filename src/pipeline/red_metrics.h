// RedMetrics: rate, errors and duration of every service's calls since this process started, for /metrics.
// Filled from the rows of the standing dataset `calls` as the tailer writes them: a trace counts when it is
// first processed, later events do not. The dataset is exact for any time range; these metrics are for
// alerts. Thread safety: all calls, from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "model/dataset_table.h"
#include "pipeline/recent_ids.h"

namespace wf::pipeline {

enum class MetricsFormat : uint8_t {
  kPrometheus,   // text 0.0.4
  kOpenMetrics,  // with exemplars: the trace behind a bucket's latest call
};

class RedMetrics {
 public:
  // `calls`: all rows of some traces.
  void Count(const std::string& tenant, const DatasetTable& calls, Nanos now);

  // The families of one tenant, without `# EOF`.
  std::string Text(const std::string& tenant, MetricsFormat format) const;

 private:
  // Seconds; common thresholds of alerts.
  static constexpr std::array<double, 14> kBounds = {.001, .0025, .005, .01, .025, .05, .1,
                                                     .25,  .5,    1,    2.5, 5,    10,  30};
  struct Exemplar {
    std::string trace_id;  // empty: none yet
    double seconds = 0;
    Nanos time = 0;
  };
  struct Service {
    int64_t errors = 0;
    Nanos sum = 0;
    std::array<int64_t, kBounds.size() + 1> buckets{};  // not cumulative; the last is unbounded
    std::array<Exemplar, kBounds.size() + 1> exemplars;
  };
  struct Tenant {
    std::map<std::string, Service> services;
    int64_t left_out = 0;               // calls of services beyond kMostServices
    RecentIds counted{kHour, 1 << 21};  // a million traces; late events come within minutes
  };
  // A sender that invents service names must not fill our memory, nor the database of the scraper.
  static constexpr size_t kMostServices = 1000;

  mutable std::mutex mutex_;
  std::map<std::string, Tenant> tenants_;
};

}  // namespace wf::pipeline
