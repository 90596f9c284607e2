// ClockStore: how far the clocks of hosts are apart.
// Every call takes the tenant; nothing of another tenant is ever seen. Thread safety: all calls, from any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/clock.h"
#include "store/time_range.h"

namespace wf::store {

class ClockStore {
 public:
  virtual ~ClockStore() = default;

  // Clock offsets solved over the exchanges of all traces (pipeline/clock_refresh.h). Replaces those of the same host that
  // start in [first, last] of what is given.
  virtual Status WriteClocks(const std::string& tenant, const std::vector<ClockOffset>& clocks) = 0;
  virtual Result<std::vector<ClockOffset>> ReadClocks(const std::string& tenant,
                                                      TimeRange time) = 0;
  // The tightest message delays seen between hosts, per time window (model/clock.h), over all events kept.
  virtual Result<std::vector<ClockExchange>> ReadExchanges(const std::string& tenant,
                                                           TimeRange time) = 0;
};

}  // namespace wf::store
