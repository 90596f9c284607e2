// The distributed token bucket (Canopy §4.1): a rate is the cluster's, not a process's. Clients tell their demand on each rate
// over the control connection; receivers gather it and tell each other (membership.h); and every client is told which share
// of the rate it may use, the same for all (rate_demand.h). When somebody's demand changes, or he is gone, the others'
// share follows within seconds; until then the sum may differ from the rate.
//
// Rates are named o:OWNER (of an owner's bucket), p:POLICY (of a policy's rate) and g (of all traces). The limits of a
// tenant (tenant_limits.h) are divided likewise, among the processes that enforce them: l:LIMIT.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "cluster/membership.h"
#include "cluster/rate_demand.h"

namespace wf::cluster {

class RateShares {
 public:
  explicit RateShares(std::function<Nanos()> clock = MonotonicNow) : clock_(std::move(clock)) {}

  // "o:web=0.5,p:slow=12": what a client told, who tells again within `wait`. Malformed parts are left out.
  void Told(const std::string& tenant, const std::string& instance, std::string_view demand,
            Nanos wait);
  void Left(const std::string& tenant, const std::string& instance);
  // What this process itself wants of tenants' limits, instead of what it wanted before: tenant, limit → demand.
  void Want(const std::map<std::string, std::map<std::string, double>>& limits);

  // Of our clients and ourselves, for the other processes: {TENANT:{RATE:[…]}}.
  std::string OwnJson();
  // What the others told: shares are computed anew. Whose changed: tenants.
  std::vector<std::string> Heard(const Membership::Told& others);

  // For clients: {RATE:SHARE} of those below 1.
  std::string SharesJson(const std::string& tenant) const;
  // For ourselves.
  double LimitShare(const std::string& tenant, const std::string& limit) const;
  int64_t clients() const;  // ours, that told a demand

 private:
  using Demands = std::map<std::string, double>;
  using Summaries = std::map<std::string, DemandSummary>;
  struct Client {
    Demands demands;
    Nanos until = 0;  // forgotten then
  };
  using Shares = std::map<std::string, std::map<std::string, double>>;  // tenant, rate
  std::map<std::string, Summaries> OwnSummaries();                      // with mutex_ held

  const std::function<Nanos()> clock_;
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, Client>> clients_;  // tenant, instance
  std::map<std::string, Demands> wanted_;                         // tenant: by ourselves
  Shares shares_, limits_;                                        // of clients, and of ourselves
};

}  // namespace wf::cluster
