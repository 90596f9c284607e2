// Checks a password against that of an account, at a bounded cost: the slow hash is computed a few times a
// second for each host and for all hosts together, however many requests arrive. A password that was right
// once is recognised by a quick hash under a key that exists only in this process. Thread safety: all calls,
// from any thread.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/nanos.h"
#include "security/rate_limit.h"

namespace wf::security {

class PasswordCheck {
 public:
  // `key` is random.
  explicit PasswordCheck(std::string key) : key_(std::move(key)) {}
  struct Verdict {
    bool right = false;
    Nanos retry_after = 0;  // not 0: nothing was checked
  };
  // `stored` as net::HashPassword writes it. Empty for an unknown name, which takes just as long to check.
  Verdict Check(const std::string& stored, std::string_view password,
                std::string_view remote_address);

 private:
  Nanos Admit(std::string_view remote_address);

  const std::string key_;
  std::mutex mutex_;
  std::set<std::string> known_;
  std::map<std::string, RateLimit, std::less<>> hosts_;
  RateLimit everybody_{20, 20};
};

}  // namespace wf::security
