// The distributed token bucket (Canopy §4.1): a rate is the cluster's, not a process's. Clients tell their demand on each rate
// over the control connection; receivers gather it and tell each other (membership.h); and every client is told which share
// of the rate it may use, the same for all (sampling_demand.h). When somebody's demand changes, or he is gone, the others'
// share follows within seconds; until then the sum may differ from the rate.
//
// Rates are named o:OWNER (of an owner's bucket), p:POLICY (of a policy's rate) and g (of all traces).
//
// Thread safety: all calls, from any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/nanos.h"
#include "server/membership.h"
#include "server/sampling_demand.h"

namespace wf {

class SamplingShares {
 public:
  explicit SamplingShares(std::function<Nanos()> clock = MonotonicNow) : clock_(std::move(clock)) {}

  // "o:web=0.5,p:slow=12": what a client told, who tells again within `wait`. Malformed parts are left out.
  void Told(const std::string& tenant, const std::string& instance, std::string_view demand,
            Nanos wait);
  void Left(const std::string& tenant, const std::string& instance);

  // Of our clients, for the other receivers: {TENANT:{RATE:[…]}}.
  std::string OwnJson();
  // What the others told: shares are computed anew. Whose changed: tenants.
  std::vector<std::string> Heard(const Membership::Told& others);

  // For clients: {RATE:SHARE} of those below 1.
  std::string SharesJson(const std::string& tenant) const;
  int64_t clients() const;  // ours, that told a demand

 private:
  using Demands = std::map<std::string, double>;
  using Summaries = std::map<std::string, DemandSummary>;
  struct Client {
    Demands demands;
    Nanos until = 0;  // forgotten then
  };
  std::map<std::string, Summaries> OwnSummaries();  // with mutex_ held

  const std::function<Nanos()> clock_;
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, Client>> clients_;  // tenant, instance
  std::map<std::string, std::map<std::string, double>> shares_;   // tenant, rate
};

}  // namespace wf
