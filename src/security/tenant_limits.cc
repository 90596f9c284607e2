#include "security/tenant_limits.h"

#include <algorithm>
#include <set>

#include "base/nanos.h"

namespace wf::security {
namespace {

// Without accounts anybody can invent tenants, so those beyond this number are counted together.
constexpr size_t kMostTenants = 10'000;
constexpr char kOthers[] = "other";
// How many seconds' worth of a rate may arrive at once.
constexpr double kBurstSeconds = 1;

std::string Number(double value) {
  std::string text = std::to_string(static_cast<int64_t>(value));
  return value < 1 ? std::to_string(value) : text;
}

}  // namespace

const TenantLimits::RateOf TenantLimits::kRates[3] = {{"spans_per_second", &Tenant::spans},
                                                      {"bytes_per_second", &Tenant::bytes},
                                                      {"questions_per_second", &Tenant::questions}};

void TenantLimits::Apply(const std::string& name, Tenant& tenant) const {
  auto found = quotas_.find(name);
  if (found == quotas_.end()) found = quotas_.find(kEveryTenant);
  tenant.quotas = found == quotas_.end() ? TenantQuotas() : found->second;
  const auto bucket = [](const std::optional<double>& rate) -> std::optional<RateLimit> {
    if (!rate) return std::nullopt;
    return RateLimit(*rate, std::max(1.0, *rate * kBurstSeconds));
  };
  tenant.spans = bucket(tenant.quotas.spans_per_second);
  tenant.bytes = bucket(tenant.quotas.bytes_per_second);
  tenant.questions = bucket(tenant.quotas.questions_per_second);
}

void TenantLimits::SetQuotas(std::map<std::string, TenantQuotas> quotas) {
  const std::lock_guard lock(mutex_);
  quotas_ = std::move(quotas);
  for (auto& [name, tenant] : tenants_) Apply(name, tenant);
}

TenantLimits::Tenant& TenantLimits::Of(const std::string& name) {
  auto found = tenants_.find(name);
  if (found != tenants_.end()) return found->second;
  const std::string& kept = tenants_.size() < kMostTenants ? name : kOthers;
  const auto [added, fresh] = tenants_.try_emplace(kept);
  if (fresh) Apply(kept, added->second);
  return added->second;
}

Refusal TenantLimits::Late(Tenant& tenant, const std::string& name, const char* limit,
                           double allowed, Nanos wait) {
  tenant.counted[std::string("limited_") + limit] += 1;
  std::string words(limit);
  std::replace(words.begin(), words.end(), '_', ' ');
  return {Refusal::Kind::kTooMuch,
          Overloaded("tenant \"" + name + "\": more than " + Number(allowed) + " " + words,
                     "send it again after the time in Retry-After, or ask for a higher limit"),
          wait};
}

std::optional<Refusal> TenantLimits::AdmitBytes(const std::string& name, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  Tenant& tenant = Of(name);
  const TenantQuotas& quotas = tenant.quotas;
  if (quotas.request_bytes && bytes > *quotas.request_bytes) {
    tenant.counted["limited_request_bytes"] += 1;
    return Refusal{
        Refusal::Kind::kTooLarge,
        BadInput("tenant \"" + name + "\": a request of " + std::to_string(bytes) +
                     " bytes, decoded; the limit is " + std::to_string(*quotas.request_bytes),
                 "send smaller batches")};
  }
  if (quotas.stored_bytes && tenant.stored >= *quotas.stored_bytes) {
    // Retention frees space, but not soon.
    return Late(tenant, name, "stored_bytes", static_cast<double>(*quotas.stored_bytes), kMinute);
  }
  if (!tenant.bytes) return std::nullopt;
  const Nanos wait = tenant.bytes->Take(static_cast<double>(bytes), MonotonicNow());
  if (wait == 0) return std::nullopt;
  return Late(tenant, name, "bytes_per_second", *quotas.bytes_per_second, wait);
}

std::optional<Refusal> TenantLimits::AdmitSpans(const std::string& name, int64_t spans,
                                                int64_t bytes) {
  const std::lock_guard lock(mutex_);
  Tenant& tenant = Of(name);
  if (!tenant.spans) return std::nullopt;
  const Nanos wait = tenant.spans->Take(static_cast<double>(spans), MonotonicNow());
  if (wait == 0) return std::nullopt;
  if (tenant.bytes) tenant.bytes->Give(static_cast<double>(bytes));
  return Late(tenant, name, "spans_per_second", *tenant.quotas.spans_per_second, wait);
}

std::optional<Refusal> TenantLimits::AdmitQuestion(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Tenant& tenant = Of(name);
  if (!tenant.questions) return std::nullopt;
  const Nanos wait = tenant.questions->Take(1, MonotonicNow());
  if (wait == 0) return std::nullopt;
  return Late(tenant, name, "questions_per_second", *tenant.quotas.questions_per_second, wait);
}

std::map<std::string, std::map<std::string, double>> TenantLimits::Demands() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::map<std::string, double>> out;
  const Nanos now = MonotonicNow();
  for (auto& [name, tenant] : tenants_) {
    for (const auto& [limit, rate] : kRates) {
      if (!(tenant.*rate)) continue;
      if (const double demand = (tenant.*rate)->Demand(now); demand > 0) out[name][limit] = demand;
    }
  }
  return out;
}

void TenantLimits::SetShares(const ShareOf& share_of) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, tenant] : tenants_)
    for (const auto& [limit, rate] : kRates)
      if (tenant.*rate) (tenant.*rate)->SetShare(share_of(name, limit));
}

void TenantLimits::SetStored(const std::string& name, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  Tenant& tenant = Of(name);
  tenant.stored = bytes;
  tenant.counted["stored_bytes"] = bytes;
}

void TenantLimits::Count(const std::string& name, std::string_view what, int64_t n) {
  const std::lock_guard lock(mutex_);
  auto& counted = Of(name).counted;
  const auto found = counted.find(what);
  (found != counted.end() ? found->second : counted[std::string(what)]) += n;
}

std::map<std::string, int64_t> TenantLimits::Counted(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = tenants_.find(name);
  if (found == tenants_.end()) return {};
  return {found->second.counted.begin(), found->second.counted.end()};
}

std::string TenantLimits::MetricsText(const std::optional<std::string>& only,
                                      pipeline::MetricsFormat format) const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> names;
  for (const auto& [tenant, facts] : tenants_) {
    if (only && tenant != *only) continue;
    for (const auto& [name, value] : facts.counted) names.insert(name);
  }
  std::string out;
  for (const std::string& name : names) {
    const std::string metric = "wherefore_tenant_" + name;
    out += "# TYPE " + metric +
           (format == pipeline::MetricsFormat::kOpenMetrics ? " unknown\n" : " untyped\n");
    for (const auto& [tenant, facts] : tenants_) {
      const auto found = facts.counted.find(name);
      if (found == facts.counted.end() || (only && tenant != *only)) continue;
      out += metric + "{tenant=\"" + tenant + "\"} " + std::to_string(found->second) + "\n";
    }
  }
  return out;
}

}  // namespace wf::security
