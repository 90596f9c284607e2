#include "server/security.h"

#include <sys/stat.h>

#include <algorithm>

#include "log/log.h"
#include "net/address.h"

namespace wf::server {
namespace {

constexpr Nanos kWatchPeriod = 2 * kSecond;
constexpr Nanos kStoredPeriod = 10 * kSecond;
constexpr int64_t kExpiresSoonSeconds = 14 * 24 * 3600;

std::string Seen(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return "gone";
  return std::to_string(facts.st_ino) + "." + std::to_string(facts.st_size) + "." +
         std::to_string(facts.st_mtim.tv_sec) + "." + std::to_string(facts.st_mtim.tv_nsec);
}

bool IsLoopback(const net::ListenAddress& address) {
  return address.off || address.host == "localhost" || address.host == "::1" ||
         address.host.rfind("127.", 0) == 0;
}

// With accounts or client certificates everybody is known; else it must be said that nobody needs to be.
Status CheckExposure(const ServeOptions& options) {
  if (options.allow_anonymous) return {};
  const bool authenticated = !options.accounts.empty() || !options.tls_client_ca.empty();
  const auto check = [](const char* flag, const std::string& text, const char* hint) -> Status {
    const auto address = net::ParseListenAddress(text);
    if (!address.ok() || IsLoopback(*address)) return {};
    return BadInput(std::string(flag) + " " + text +
                        ": anyone who reaches this address could use it, because no sign-in is "
                        "required",
                    hint);
  };
  constexpr char kHint[] =
      "give --accounts FILE or --tls-client-ca FILE; or --allow-anonymous if that is intended";
  if (!authenticated) {
    WF_TRY(check("--http", options.http, kHint));
    WF_TRY(check("--otlp-grpc", options.otlp_grpc, kHint));
    WF_TRY(check("--otlp-http", options.otlp_http, kHint));
    WF_TRY(check("--zipkin", options.zipkin, kHint));
    WF_TRY(check("--jaeger", options.jaeger, kHint));
  }
  return check("--int", options.int_reports,
               "UDP reports carry no identity: give --allow-anonymous if that is intended");
}

}  // namespace

Result<std::shared_ptr<net::TlsKeys>> LoadTls(const ServeOptions& options) {
  if (options.tls_cert.empty() && options.tls_key.empty() && options.tls_client_ca.empty())
    return std::shared_ptr<net::TlsKeys>();
  return net::TlsKeys::Load({options.tls_cert, options.tls_key, options.tls_client_ca});
}

Status CheckSecurity(const ServeOptions& options) {
  WF_TRY(CheckExposure(options));
  WF_TRY(LoadTls(options));
  if (!options.accounts.empty()) WF_TRY(security::LoadAccounts(options.accounts));
  return {};
}

Result<std::unique_ptr<Security>> Security::Load(const ServeOptions& options,
                                                 const std::string& admin_token,
                                                 const std::string& folder,
                                                 pipeline::Counters& counters) {
  std::unique_ptr<Security> security(new Security(options, counters));
  security->authorizer_ = std::make_unique<security::Authorizer>(admin_token, options.allowed_hosts,
                                                                 options.events_origins);
  WF_ASSIGN(security->tls_, LoadTls(options));
  if (security->tls_ != nullptr) security->TellCertificate();
  if (!options.accounts.empty()) {
    const std::lock_guard lock(security->reloading_);
    WF_TRY(security->TakeAccounts(When::kAlways));
  }
  WF_ASSIGN(security->audit_,
            security::AuditLog::Open(
                options.audit_log.empty() ? folder + "/audit.jsonl" : options.audit_log, counters));
  return security;
}

Security::~Security() { Stop(); }

void Security::TellCertificate() const {
  const net::TlsKeys::Facts facts = tls_->facts();
  const int64_t left = facts.expires_s - Now() / kSecond;
  if (facts.key_public) log::Warn("--tls-key {}: every user may read it", options_.tls_key);
  if (left < 0) {
    log::Warn("the certificate of {} has expired: clients will refuse it", facts.subject);
  } else if (left < kExpiresSoonSeconds) {
    log::Warn("the certificate of {} expires in {}", facts.subject, FormatDuration(left * kSecond));
  }
}

Status Security::TakeAccounts(When when) {
  const std::string seen = Seen(options_.accounts);
  if (when == When::kIfChanged && seen == accounts_seen_) return {};
  accounts_seen_ = seen;  // an error is told once for each change
  WF_ASSIGN(security::AccountsFile file, security::LoadAccounts(options_.accounts));
  limits_stored_ = std::any_of(file.tenants.begin(), file.tenants.end(),
                               [](const auto& t) { return t.second.stored_bytes.has_value(); });
  limits_.SetQuotas(file.tenants);
  log::Info("accounts: {} read from {}", file.accounts.size(), options_.accounts);
  authorizer_->SetAccounts(std::move(file));
  return {};
}

void Security::Note(const char* what, const Status& status, const std::string& done) {
  counters_.Add(std::string(what) + (status.ok() ? "_reloaded" : "_reload_failed"), 1);
  if (status.ok()) {
    log::Info("{}", done);
  } else {
    log::Error("{}; the previous settings stay in force", status.error().message);
  }
  audit_->Write(
      {"server", "", "", std::string("reload ") + what, status.ok() ? "ok" : "failed", 0});
}

void Security::ReloadTls(When when) {
  if (tls_ == nullptr) return;
  const auto changed = tls_->Reload(when == When::kAlways ? net::TlsKeys::When::kAlways
                                                          : net::TlsKeys::When::kIfChanged);
  if (!changed.ok()) return Note("tls", changed.error(), "");
  if (!*changed) return;
  Note("tls", {}, "TLS: new connections use the certificate of " + tls_->facts().subject);
  TellCertificate();
}

void Security::ReloadAccounts(When when) {
  if (options_.accounts.empty()) return;
  const std::string before = accounts_seen_;
  const Status status = TakeAccounts(when);
  if (status.ok() && before == accounts_seen_ && when == When::kIfChanged) return;
  Note("accounts", status, "accounts: reloaded");
}

void Security::Reload() {
  const std::lock_guard lock(reloading_);
  if (const Status reopened = audit_->Reopen(); !reopened.ok())
    log::Error("{}", reopened.error().message);
  ReloadTls(When::kAlways);
  ReloadAccounts(When::kAlways);
}

void Security::Watch(store::StoreKeeper& store) {
  watcher_ = std::thread([this, &store] {
    Nanos looked = 0;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      {
        const std::lock_guard reloading(reloading_);
        ReloadTls(When::kIfChanged);
        ReloadAccounts(When::kIfChanged);
      }
      if (limits_stored_ && (looked == 0 || MonotonicNow() - looked >= kStoredPeriod)) {
        looked = MonotonicNow();
        if (const auto uses = store.ReadTenants(); uses.ok())
          for (const store::TenantUse& use : *uses) limits_.SetStored(use.tenant, use.bytes);
      }
      lock.lock();
      wake_.wait_for(lock, std::chrono::nanoseconds(kWatchPeriod), [&] { return stopping_; });
    }
  });
}

void Security::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

std::map<std::string, int64_t> Security::Gauges() const {
  if (tls_ == nullptr) return {};
  const net::TlsCounters& t = tls_->counters();
  return {{"tls_handshakes", static_cast<int64_t>(t.handshakes)},
          {"tls_handshakes_failed", static_cast<int64_t>(t.handshakes_failed)},
          {"tls_handshakes_late", static_cast<int64_t>(t.handshakes_late)},
          {"tls_handshakes_cut", static_cast<int64_t>(t.handshakes_cut)},
          {"tls_certificate_expires_s", tls_->facts().expires_s}};
}

}  // namespace wf::server
