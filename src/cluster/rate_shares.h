// The distributed token bucket (Canopy §4.1): a rate belongs to the cluster, not to a process. Clients report
// their demand on each rate over the control connection. Receivers sum the demands up and report them to each
// other (membership.h), and every client receives the share of the rate that it may use, the same for all
// (rate_demand.h). When a client's demand changes or the client leaves, the shares of the others follow
// within seconds; until then the sum may differ from the rate.
//
// Rates are named o:OWNER (an owner's bucket), p:POLICY (a policy's rate) and g (all traces). The limits of a
// tenant (tenant_limits.h) are divided in the same way among the processes that enforce them: l:LIMIT.
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

  // `demand`: "o:web=0.5,p:slow=12", as a client reported it; it reports again within `wait`. Malformed parts
  // are skipped.
  void Told(const std::string& tenant, const std::string& instance, std::string_view demand,
            Nanos wait);
  void Left(const std::string& tenant, const std::string& instance);
  // Sets the demand of this process itself on tenants' limits: tenant, limit → demand. Replaces the previous
  // one.
  void Want(const std::map<std::string, std::map<std::string, double>>& limits);

  // The demands of our clients and of this process, for the other processes: {TENANT:{RATE:[…]}}.
  std::string OwnJson();
  // Computes the shares anew from the reports of the others. Returns the tenants whose shares changed.
  std::vector<std::string> Heard(const Membership::Told& others);

  // For clients: {RATE:SHARE} of the rates whose share is below 1.
  std::string SharesJson(const std::string& tenant) const;
  // The share of this process.
  double LimitShare(const std::string& tenant, const std::string& limit) const;
  int64_t clients() const;  // clients of this process that reported a demand

 private:
  using Demands = std::map<std::string, double>;
  using Summaries = std::map<std::string, DemandSummary>;
  struct Client {
    Demands demands;
    Nanos until = 0;  // the demands are dropped then
  };
  using Shares = std::map<std::string, std::map<std::string, double>>;  // tenant, rate
  std::map<std::string, Summaries> OwnSummaries();                      // with mutex_ held

  const std::function<Nanos()> clock_;
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, Client>> clients_;  // tenant, instance
  std::map<std::string, Demands> wanted_;                         // tenant; of this process itself
  Shares shares_, limits_;                                        // of clients, and of this process
};

}  // namespace wf::cluster
