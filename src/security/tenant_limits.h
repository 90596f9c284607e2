// How much each tenant may send, ask and keep (the section "tenants" of the accounts file), and the counters
// of each tenant. A request passes AdmitBytes before it is decoded and AdmitSpans after it. Refusals are
// counted by tenant and limit. Thread safety: all calls, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/nanos.h"
#include "pipeline/red_metrics.h"
#include "security/accounts.h"
#include "security/rate_limit.h"
#include "security/refusal.h"

namespace wf::security {

class TenantLimits {
 public:
  // Replaces all quotas. Tokens taken before are forgotten; counters are kept.
  void SetQuotas(std::map<std::string, TenantQuotas> quotas);

  std::optional<Refusal> AdmitBytes(const std::string& tenant, int64_t bytes);
  // `bytes`: what AdmitBytes was called with; it is given back when the spans are refused.
  std::optional<Refusal> AdmitSpans(const std::string& tenant, int64_t spans, int64_t bytes);
  std::optional<Refusal> AdmitQuestion(const std::string& tenant);
  // What the store holds of a tenant, as of the last measurement.
  void SetStored(const std::string& tenant, int64_t bytes);

  // Rates belong to the cluster (rate_shares.h). Demands returns the recent demand in this process: tenant,
  // limit → multiple of the rate. SetShares sets which part of each rate this process has from now on.
  std::map<std::string, std::map<std::string, double>> Demands();
  using ShareOf = std::function<double(const std::string& tenant, const std::string& limit)>;
  void SetShares(const ShareOf& share_of);

  // "spans_accepted", "requests_denied", …
  void Count(const std::string& tenant, std::string_view name, int64_t n);
  // Name → count, for one tenant.
  std::map<std::string, int64_t> Counted(const std::string& tenant) const;
  // wherefore_tenant_NAME{tenant="…"}; for the tenant `only`, else for all.
  std::string MetricsText(const std::optional<std::string>& only,
                          pipeline::MetricsFormat format) const;

 private:
  struct Tenant {
    TenantQuotas quotas;
    std::optional<RateLimit> spans, bytes, questions;
    int64_t stored = 0;
    std::map<std::string, int64_t, std::less<>> counted;
  };
  struct RateOf {
    const char* limit;
    std::optional<RateLimit> Tenant::*rate;
  };
  static const RateOf kRates[3];
  Tenant& Of(const std::string& tenant);  // with mutex_ held
  void Apply(const std::string& name, Tenant& tenant) const;
  Refusal Late(Tenant& tenant, const std::string& name, const char* limit, double allowed,
               Nanos wait);

  mutable std::mutex mutex_;
  std::map<std::string, TenantQuotas> quotas_;
  std::map<std::string, Tenant> tenants_;
};

}  // namespace wf::security
