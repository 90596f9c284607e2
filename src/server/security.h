// What keeps a server safe to expose, loaded from its options and kept up to date: certificates, accounts, limits of
// tenants and the audit log. Changed files are taken over within seconds, or at once by Reload; wrong ones are logged and
// counted, and what was there stays in force.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "net/tls_server.h"
#include "pipeline/counters.h"
#include "security/audit_log.h"
#include "security/authorize.h"
#include "security/tenant_limits.h"
#include "server/serve_options.h"
#include "store/store.h"

namespace wf::server {

// Certificates and accounts can be read, and nothing listens beyond loopback that everybody could use by mistake.
Status CheckSecurity(const ServeOptions& options);

// What the listeners speak TLS with; null: they speak plainly.
Result<std::shared_ptr<net::TlsKeys>> LoadTls(const ServeOptions& options);

class Security {
 public:
  // `folder`: where the audit log is, unless told otherwise. The counters outlive it.
  static Result<std::unique_ptr<Security>> Load(const ServeOptions& options,
                                                const std::string& admin_token,
                                                const std::string& folder,
                                                pipeline::Counters& counters);
  ~Security();  // stops watching

  // Looks every few seconds for changed files and, when a tenant has a limit of it, for what is stored.
  void Watch(store::StoreKeeper& store);
  void Stop();
  void Reload();  // everything, now

  const security::Authorizer& authorizer() const { return *authorizer_; }
  security::TenantLimits& limits() { return limits_; }
  security::AuditLog& audit() { return *audit_; }
  const std::shared_ptr<net::TlsKeys>& tls() const { return tls_; }  // null: plain
  std::map<std::string, int64_t> Gauges() const;                     // for /metrics

 private:
  enum class When { kIfChanged, kAlways };
  Security(const ServeOptions& options, pipeline::Counters& counters)
      : options_(options), counters_(counters) {}
  Status TakeAccounts(When when);
  void ReloadTls(When when);
  void ReloadAccounts(When when);
  void Note(const char* what, const Status& status, const std::string& done);
  void TellCertificate() const;

  const ServeOptions options_;
  pipeline::Counters& counters_;
  std::unique_ptr<security::Authorizer> authorizer_;
  security::TenantLimits limits_;
  std::unique_ptr<security::AuditLog> audit_;
  std::shared_ptr<net::TlsKeys> tls_;
  std::mutex reloading_;
  std::string accounts_seen_;  // which file it was; guarded by reloading_
  std::atomic<bool> limits_stored_{false};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace wf::server
