#include "security/password_check.h"

#include "net/keyed_hash.h"
#include "net/secret_hash.h"

namespace wf::security {
namespace {

constexpr size_t kMostKnown = 1000, kMostHosts = 10'000;
constexpr double kPerHost = 2, kHostBurst = 5;
// The hash of no password, with the usual cost.
constexpr char kNobodys[] =
    "scrypt:12:8:1:00000000000000000000000000000000:"
    "0000000000000000000000000000000000000000000000000000000000000000";

}  // namespace

Nanos PasswordCheck::Admit(std::string_view remote_address) {
  const std::string_view host = remote_address.substr(0, remote_address.rfind(':'));
  const Nanos now = MonotonicNow();
  if (hosts_.size() >= kMostHosts) hosts_.clear();  // the limit for all hosts still holds
  auto found = hosts_.find(host);
  if (found == hosts_.end())
    found = hosts_.emplace(std::string(host), RateLimit(kPerHost, kHostBurst)).first;
  if (const Nanos wait = found->second.Take(1, now); wait != 0) return wait;
  return everybody_.Take(1, now);
}

PasswordCheck::Verdict PasswordCheck::Check(const std::string& stored, std::string_view password,
                                            std::string_view remote_address) {
  const std::string quick = net::KeyedHash(key_, stored + "\n" + std::string(password));
  {
    const std::lock_guard lock(mutex_);
    if (!stored.empty() && known_.count(quick) != 0) return {true, 0};
    if (const Nanos wait = Admit(remote_address); wait != 0) return {false, wait};
  }
  const bool right =
      net::PasswordMatches(stored.empty() ? kNobodys : stored, password) && !stored.empty();
  if (right) {
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMostKnown) known_.clear();
    known_.insert(quick);
  }
  return {right, 0};
}

}  // namespace wf::security
