#include "cluster/rate_shares.h"

#include <charconv>
#include <cmath>
#include <set>

namespace wf::cluster {
namespace {

// Max rates of one client, and max length of their names. More than that does not come from one of our
// clients.
constexpr size_t kMostRates = 200, kLongestName = 200;
// Added to three times the wait that the client announced.
constexpr Nanos kGrace = 2 * kSecond;

// Rounds shares down to powers of 1.1: every change is sent to every client, so small changes are ignored.
// Rounding down keeps the sum below the rate.
double Stepped(double share) {
  if (share >= 1) return 1;
  return std::pow(1.1, std::floor(std::log(share) / std::log(1.1) + 1e-9));
}

// A tenant's limit, which is not sent to clients.
constexpr char kLimit[] = "l:";
bool IsLimit(std::string_view rate) { return rate.rfind(kLimit, 0) == 0; }

// A share that rises by a single step may only be noise around the border between two steps.
bool Moves(double from, double to) { return to < from || to > from * 1.15 || to == 1; }

}  // namespace

void RateShares::Told(const std::string& tenant, const std::string& instance,
                      std::string_view demand, Nanos wait) {
  Demands demands;
  while (!demand.empty() && demands.size() < kMostRates) {
    const size_t end = std::min(demand.find(','), demand.size());
    const std::string_view part = demand.substr(0, end);
    demand.remove_prefix(std::min(end + 1, demand.size()));
    const size_t equals = part.rfind('=');
    if (equals == std::string_view::npos || equals == 0 || equals > kLongestName) continue;
    double value = 0;
    const auto read = std::from_chars(part.data() + equals + 1, part.data() + part.size(), value);
    if (read.ec == std::errc() && std::isfinite(value) && value > 0)
      demands[std::string(part.substr(0, equals))] = value;
  }
  const std::lock_guard lock(mutex_);
  clients_[tenant][instance] = {std::move(demands), clock_() + 3 * wait + kGrace};
}

void RateShares::Left(const std::string& tenant, const std::string& instance) {
  const std::lock_guard lock(mutex_);
  if (const auto found = clients_.find(tenant); found != clients_.end())
    found->second.erase(instance);
}

void RateShares::Want(const std::map<std::string, std::map<std::string, double>>& limits) {
  const std::lock_guard lock(mutex_);
  wanted_.clear();
  for (const auto& [tenant, demands] : limits)
    for (const auto& [limit, demand] : demands) wanted_[tenant][kLimit + limit] = demand;
}

std::map<std::string, RateShares::Summaries> RateShares::OwnSummaries() {
  std::map<std::string, Summaries> out;
  for (const auto& [tenant, demands] : wanted_)
    for (const auto& [rate, demand] : demands) out[tenant][rate].Add(demand);
  const Nanos now = clock_();
  for (auto& [tenant, clients] : clients_) {
    for (auto at = clients.begin(); at != clients.end();) {
      if (at->second.until <= now) {
        at = clients.erase(at);
        continue;
      }
      for (const auto& [rate, demand] : at->second.demands) out[tenant][rate].Add(demand);
      ++at;
    }
  }
  return out;
}

std::string RateShares::OwnJson() {
  const std::lock_guard lock(mutex_);
  JsonWriter json;
  json.BeginObject();
  for (const auto& [tenant, rates] : OwnSummaries()) {
    json.Key(tenant).BeginObject();
    for (const auto& [rate, summary] : rates) summary.Write(json.Key(rate));
    json.EndObject();
  }
  json.EndObject();
  return json.Take();
}

std::vector<std::string> RateShares::Heard(const Membership::Told& others) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Summaries> all = OwnSummaries();
  JsonParser parser;
  for (const auto& [instance, text] : others) {
    const auto parsed = parser.Parse(text);
    if (!parsed.ok() || !parsed->Get("told").IsObject()) continue;
    for (const auto& [tenant, rates] : parsed->Get("told").Members()) {
      if (!rates.IsObject()) continue;
      for (const auto& [rate, summary] : rates.Members())
        all[std::string(tenant)][std::string(rate)].Add(DemandSummary::Read(summary));
    }
  }
  Shares fresh;
  limits_.clear();
  for (const auto& [tenant, rates] : all) {
    for (const auto& [rate, summary] : rates) {
      if (IsLimit(rate)) {
        limits_[tenant][rate] = summary.Share();
        continue;
      }
      const double share = Stepped(summary.Share());
      const double before = shares_[tenant].count(rate) != 0 ? shares_[tenant][rate] : 1;
      if (const double now = Moves(before, share) ? share : before; now < 1)
        fresh[tenant][rate] = now;
    }
  }
  std::vector<std::string> changed;
  std::set<std::string> tenants;
  for (const auto& [tenant, rates] : shares_) tenants.insert(tenant);
  for (const auto& [tenant, rates] : fresh) tenants.insert(tenant);
  for (const std::string& tenant : tenants)
    if (shares_[tenant] != fresh[tenant]) changed.push_back(tenant);
  shares_ = std::move(fresh);
  return changed;
}

std::string RateShares::SharesJson(const std::string& tenant) const {
  const std::lock_guard lock(mutex_);
  JsonWriter json;
  json.BeginObject();
  if (const auto found = shares_.find(tenant); found != shares_.end())
    for (const auto& [rate, share] : found->second) json.Key(rate).Double(share);
  json.EndObject();
  return json.Take();
}

double RateShares::LimitShare(const std::string& tenant, const std::string& limit) const {
  const std::lock_guard lock(mutex_);
  const auto found = limits_.find(tenant);
  if (found == limits_.end()) return 1;
  const auto share = found->second.find(kLimit + limit);
  return share == found->second.end() ? 1 : share->second;
}

int64_t RateShares::clients() const {
  const std::lock_guard lock(mutex_);
  int64_t n = 0;
  for (const auto& [tenant, clients] : clients_) n += static_cast<int64_t>(clients.size());
  return n;
}

}  // namespace wf::cluster
