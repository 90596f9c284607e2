#include "pipeline/recent_clocks.h"

#include <algorithm>

#include "pipeline/clock_refresh.h"

namespace wf::pipeline {
namespace {

constexpr Nanos kClocksHold = 15 * kSecond;  // as often as a server solves them
constexpr Nanos kUnknownHold = 5 * kSecond;  // asking costs up to 0.2 s under full load
constexpr size_t kWindowsKept = 64;

// Hosts without an offset, unless there is but one host, which needs none.
bool HasUnknownHost(const EventBatch& events, const HostClocks& clocks) {
  std::string_view first;
  bool several = false, unknown = false;
  for (const Process& process : events.processes) {
    const std::string_view host = events.str(process.host);
    if (host.empty()) continue;
    several = several || (!first.empty() && host != first);
    first = host;
    unknown = unknown || clocks.Find(host) == nullptr;
  }
  return several && unknown;
}

}  // namespace

Result<std::shared_ptr<const HostClocks>> RecentClocks::For(const EventBatch& events, Nanos now) {
  Nanos from = INT64_MAX, until = INT64_MIN;
  for (size_t row = 0; row < events.size(); ++row) {
    from = std::min(from, events.start_ns[row]);
    until = std::max({until, events.start_ns[row], events.end_ns[row]});
  }
  if (events.empty()) return std::make_shared<const HostClocks>();
  const std::pair<std::string, Nanos> key(events.tenant, from - from % kClockWindow);
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = windows_.find(key); at != windows_.end() && until <= at->second.until) {
      const Nanos age = now - at->second.loaded;
      if (age < kUnknownHold || (age < kClocksHold && !HasUnknownHost(events, *at->second.clocks)))
        return at->second.clocks;
    }
  }
  WF_ASSIGN(HostClocks loaded, ClocksFor(store_, events.tenant, events));
  auto clocks = std::make_shared<const HostClocks>(std::move(loaded));
  const std::lock_guard lock(mutex_);
  if (windows_.size() >= kWindowsKept) windows_.clear();
  // ReadClocks reaches a window further than the events do.
  windows_[key] = {clocks, now, std::max(until, SaturatingAdd(key.second, kClockWindow))};
  return clocks;
}

}  // namespace wf::pipeline
