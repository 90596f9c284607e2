// Who may do what. Every route of every listener declares the right it needs and calls Authorize once. What a
// request may see depends only on the Principal that Authorize returns.
//
// Without --accounts, any client that reaches a listener (loopback unless configured otherwise) may read and
// write, for the tenant in X-Scope-OrgID or for "default". Administering requires the random token in
// server.json, which only the owner of the store can read. With accounts, a request needs the token, password
// or certificate of an account, and the header may only name a tenant that the account may act for. The token
// of server.json permits everything in both cases.
//
// A page of another site, open in a browser on this machine, can also send requests to loopback. So Host must
// name this machine (DNS rebinding sends a foreign name) and Origin, if a browser sends one, must be that
// same host. There is one exception: pages of the origins that the administrator lists may send events, and
// nothing else.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "security/accounts.h"
#include "security/password_check.h"
#include "security/refusal.h"

namespace wf::security {

// kNone: no account is needed, as for the pages that ask for a token. kAny: any right of a known account
// suffices.
enum class Right : uint8_t { kNone = 0, kRead = 1, kWrite = 2, kAdminister = 4, kAny = 7 };
std::string_view RightName(Right right);

struct Principal {
  std::string tenant = kDefaultTenant;
  uint8_t rights = 0;
  std::string name = "anonymous";  // for the audit log
  bool every_tenant = true;        // also sees the counters of the whole server
  bool Has(Right right) const {
    return right == Right::kNone || (rights & static_cast<uint8_t>(right)) != 0;
  }
};

// A principal, or the reason for the refusal.
class [[nodiscard]] Authorization {
 public:
  Authorization(Principal principal) : principal_(std::move(principal)) {}  // NOLINT
  Authorization(Refusal refusal) : refusal_(std::move(refusal)) {}          // NOLINT
  bool ok() const { return principal_.has_value(); }
  const Principal& operator*() const { return *principal_; }
  const Principal* operator->() const { return &*principal_; }
  const Refusal& refusal() const { return *refusal_; }
  const Error& error() const { return refusal_->error; }

 private:
  std::optional<Principal> principal_;
  std::optional<Refusal> refusal_;
};

// What Authorize reads; views into the request.
struct Credentials {
  std::string_view authorization;  // the header's value
  std::string_view host;
  std::string_view origin;
  std::string_view tenant = {};       // X-Scope-OrgID
  std::string_view certificate = {};  // the verified name in the certificate
  std::string_view remote_address = {};
};
Credentials CredentialsOf(const net::HttpRequest& request);

enum class HostCheck {
  kStrict,   // for browsers: Host must be a loopback name, an IP literal or an allowed host
  kAnyHost,  // for receivers on a network: senders may use any name for us; Origin is still checked
  // As kAnyHost, but pages of listed origins may send too. For the one route that receives events.
  kEventPages,
};

class Authorizer {
 public:
  Authorizer(std::string admin_token, std::vector<std::string> allowed_hosts,
             std::vector<std::string> events_origins = {});

  // Replaces all accounts; may be called again.
  void SetAccounts(AccountsFile file);
  bool has_accounts() const { return known() != nullptr; }

  Authorization Authorize(const Credentials& credentials, Right needed, HostCheck host_check) const;

  // Whether pages of this origin ("https://shop.example") may send events.
  bool SendsEvents(std::string_view origin) const;

 private:
  // Accounts, indexed by the credential that a request presents.
  struct Known {
    std::vector<Account> accounts;
    std::map<std::string, const Account*, std::less<>> by_token, by_name, by_certificate;
  };
  Status CheckHost(const Credentials& credentials, HostCheck host_check) const;
  bool HostAllowed(std::string_view host) const;
  // Null without a refusal: the request presented no credentials.
  const Account* Recognize(const Known& known, const Credentials& credentials,
                           std::optional<Refusal>& refusal) const;
  const Account* CheckBasic(const Known& known, const Credentials& credentials,
                            std::optional<Refusal>& refusal) const;
  Authorization AsAdministrator(const Credentials& credentials) const;
  std::shared_ptr<const Known> known() const;

  std::string admin_token_;
  std::vector<std::string> allowed_hosts_;
  std::vector<std::string> events_origins_;
  mutable PasswordCheck passwords_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Known> known_;  // null: no accounts
};

// "https://shop.example" or "http://localhost:3000": scheme, host and port as browsers send them, and nothing
// else. There is no value for "every origin", because any page anywhere could then fill the store.
Status CheckEventsOrigin(std::string_view origin);

// 32 random bytes from the system, as hex.
Result<std::string> RandomToken();

}  // namespace wf::security
