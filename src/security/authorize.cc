#include "security/authorize.h"

#include <sys/random.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "base/base64.h"
#include "base/ids.h"
#include "net/secret_hash.h"

namespace wf::security {
namespace {

// "host:port", "[v6]:port" → host, without brackets.
std::string_view HostOf(std::string_view host_port) {
  if (!host_port.empty() && host_port.front() == '[') {
    const size_t close = host_port.find(']');
    return close == std::string_view::npos ? host_port : host_port.substr(1, close - 1);
  }
  const size_t colon = host_port.rfind(':');
  return colon == std::string_view::npos ? host_port : host_port.substr(0, colon);
}

bool IsIpLiteral(std::string_view host) {
  return !host.empty() && (host.find(':') != std::string_view::npos ||
                           host.find_first_not_of("0123456789.") == std::string_view::npos);
}

constexpr std::string_view kBearer = "Bearer ", kBasic = "Basic ";
// In place of what came twice: no tenant, host, origin nor token is called so.
constexpr std::string_view kTwice = "Bearer (given twice)";

bool BeginsWith(std::string_view text, std::string_view scheme) {  // schemes have no case
  return text.size() >= scheme.size() &&
         net::EqualsIgnoringCase(text.substr(0, scheme.size()), scheme);
}

Refusal Unknown(std::string message, std::string hint) {
  return {Refusal::Kind::kUnknown, Denied(std::move(message), std::move(hint))};
}
Refusal Forbidden(const Error& error, std::string who = "anonymous") {
  return {Refusal::Kind::kForbidden, error, 0, std::move(who)};
}

constexpr uint8_t kAllRights = static_cast<uint8_t>(Right::kRead) |
                               static_cast<uint8_t>(Right::kWrite) |
                               static_cast<uint8_t>(Right::kAdminister);

}  // namespace

std::string_view RightName(Right right) {
  switch (right) {
    case Right::kNone:
      return "none";
    case Right::kAny:
      return "anything";
    case Right::kRead:
      return "read";
    case Right::kWrite:
      return "write";
    case Right::kAdminister:
      return "administer";
  }
  return "administer";
}

bool Authorizer::HostAllowed(std::string_view name) const {
  std::string host(name);
  for (char& c : host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return host == "localhost" || IsIpLiteral(host) ||
         std::find(allowed_hosts_.begin(), allowed_hosts_.end(), host) != allowed_hosts_.end();
}

Status Authorizer::CheckHost(const Credentials& c, HostCheck host_check) const {
  // Senders have no Origin; a browser has, and may have been led here by a foreign name.
  const bool strict = host_check == HostCheck::kStrict || !c.origin.empty();
  if (strict && !HostAllowed(HostOf(c.host))) {
    return Denied(
        "Host \"" + std::string(c.host.substr(0, 100)) + "\" is not a name of this server",
        "open it by localhost or its address, or start serve with --allow-host NAME");
  }
  if (host_check == HostCheck::kEventPages && SendsEvents(c.origin)) return {};
  if (!c.origin.empty()) {
    const size_t scheme = c.origin.find("://");
    const std::string_view origin =
        scheme == std::string_view::npos ? std::string_view() : c.origin.substr(scheme + 3);
    if (origin != c.host) {
      return Denied("Origin \"" + std::string(c.origin.substr(0, 100)) + "\" is another site",
                    host_check == HostCheck::kEventPages
                        ? "start serve with --events-origins ORIGIN if its pages may send events"
                        : "requests from other sites' pages are refused");
    }
  }
  return {};
}

bool Authorizer::SendsEvents(std::string_view origin) const {
  return !origin.empty() &&
         std::find(events_origins_.begin(), events_origins_.end(), origin) != events_origins_.end();
}

Authorizer::Authorizer(std::string admin_token, std::vector<std::string> allowed_hosts,
                       std::vector<std::string> events_origins)
    : admin_token_(std::move(admin_token)),
      allowed_hosts_(std::move(allowed_hosts)),
      events_origins_(std::move(events_origins)),
      passwords_(RandomToken().ok() ? *RandomToken() : admin_token_) {}

void Authorizer::SetAccounts(AccountsFile file) {
  auto known = std::make_shared<Known>();
  known->accounts = std::move(file.accounts);
  for (const Account& account : known->accounts) {
    if (!account.token_sha256.empty()) known->by_token[account.token_sha256] = &account;
    if (!account.password.empty()) known->by_name[account.name] = &account;
    if (!account.certificate.empty()) known->by_certificate[account.certificate] = &account;
  }
  const std::lock_guard lock(mutex_);
  known_ = std::move(known);
}

std::shared_ptr<const Authorizer::Known> Authorizer::known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

Authorization Authorizer::AsAdministrator(const Credentials& credentials) const {
  Principal principal;
  principal.name = "administrator";
  principal.rights = kAllRights;
  if (!credentials.tenant.empty()) principal.tenant = credentials.tenant;
  return principal;
}

const Account* Authorizer::CheckBasic(const Known& known, const Credentials& credentials,
                                      std::optional<Refusal>& refusal) const {
  const auto decoded = Base64Decode(credentials.authorization.substr(kBasic.size()));
  const size_t colon = decoded ? decoded->find(':') : std::string::npos;
  if (colon == std::string::npos) {
    refusal = Unknown("the Authorization header is malformed",
                      "send \"Basic\" and the base64 of NAME:PASSWORD");
    return nullptr;
  }
  const auto found = known.by_name.find(std::string_view(*decoded).substr(0, colon));
  const Account* account = found == known.by_name.end() ? nullptr : found->second;
  const auto verdict =
      passwords_.Check(account == nullptr ? "" : account->password,
                       std::string_view(*decoded).substr(colon + 1), credentials.remote_address);
  if (verdict.retry_after != 0) {
    refusal = {Refusal::Kind::kTooMuch,
               Overloaded("too many password attempts", "try again after the time in Retry-After"),
               verdict.retry_after};
    return nullptr;
  }
  if (verdict.right) return account;
  refusal = Unknown("wrong name or password", "ask the administrator of this server");
  return nullptr;
}

const Account* Authorizer::Recognize(const Known& known, const Credentials& credentials,
                                     std::optional<Refusal>& refusal) const {
  if (BeginsWith(credentials.authorization, kBearer)) {
    const std::string hash = net::Sha256Hex(credentials.authorization.substr(kBearer.size()));
    // What the time of the search tells is about the hash, of which no token can be made.
    const auto found = known.by_token.find(hash);
    if (found != known.by_token.end() && net::SameSecret(found->first, hash)) return found->second;
    refusal = Unknown("unknown token", "ask the administrator of this server");
    return nullptr;
  }
  if (BeginsWith(credentials.authorization, kBasic)) return CheckBasic(known, credentials, refusal);
  const auto found = credentials.certificate.empty()
                         ? known.by_certificate.end()
                         : known.by_certificate.find(credentials.certificate);
  return found == known.by_certificate.end() ? nullptr : found->second;
}

Authorization Authorizer::Authorize(const Credentials& credentials, Right needed,
                                    HostCheck host_check) const {
  if (const Status host = CheckHost(credentials, host_check); !host.ok())
    return Forbidden(host.error());
  if (!credentials.tenant.empty()) {
    if (const Status name = CheckTenantName(credentials.tenant); !name.ok())
      return Forbidden(Denied("X-Scope-OrgID: " + name.error().message, name.error().hint));
  }
  const bool bearer = BeginsWith(credentials.authorization, kBearer);
  if (bearer && net::SameSecret(credentials.authorization.substr(kBearer.size()), admin_token_))
    return AsAdministrator(credentials);

  const std::shared_ptr<const Known> known = this->known();
  if (known == nullptr) {
    if (bearer)  // not 401: there is nobody to be, and without a token nearly everything is allowed
      return Forbidden(
          Denied("unknown token", "the administrator's token is in the store's server.json"));
    Principal principal;
    principal.rights = static_cast<uint8_t>(Right::kRead) | static_cast<uint8_t>(Right::kWrite);
    if (!credentials.tenant.empty()) principal.tenant = credentials.tenant;
    if (!credentials.certificate.empty()) principal.name = credentials.certificate;
    if (principal.Has(needed)) return principal;
    return Forbidden(
        Denied("this needs the right to " + std::string(RightName(needed)),
               "send \"Authorization: Bearer TOKEN\" with the token in the store's server.json"),
        principal.name);
  }

  Principal principal;
  principal.every_tenant = false;
  if (needed == Right::kNone) return principal;
  std::optional<Refusal> refusal;
  const Account* account = Recognize(*known, credentials, refusal);
  if (refusal) return *refusal;
  if (account == nullptr)
    return Unknown("sign in required",
                   "send \"Authorization: Bearer TOKEN\", or a name and password");
  if (account->expires_ns && Now() >= *account->expires_ns)
    return Unknown("account " + account->name + " has expired",
                   "ask the administrator of this server for a new one");
  principal.name = account->name;
  principal.rights = account->rights;
  principal.every_tenant = account->MayActFor(kEveryTenant);
  if (!credentials.tenant.empty()) {
    principal.tenant = credentials.tenant;
  } else if (account->tenants.front() != kEveryTenant) {
    principal.tenant = account->tenants.front();
  }
  if (!account->MayActFor(principal.tenant))
    return Forbidden(
        Denied("account " + account->name + " may not act for tenant \"" + principal.tenant + "\"",
               "leave X-Scope-OrgID out, or name a tenant of the account"),
        account->name);
  if (!principal.Has(needed))
    return Forbidden(
        Denied("account " + account->name + " lacks the right to " + std::string(RightName(needed)),
               "ask the administrator of this server"),
        account->name);
  return principal;
}

Credentials CredentialsOf(const net::HttpRequest& request) {
  // Of two headers, a proxy in front may have checked the other one: neither counts, and the request is refused.
  const auto only = [&](std::string_view name) -> std::string_view {
    const auto& fields = request.headers.fields();
    const auto same = [&](const auto& f) { return net::EqualsIgnoringCase(f.first, name); };
    return std::count_if(fields.begin(), fields.end(), same) > 1 ? kTwice
                                                                 : request.headers.Get(name);
  };
  return {only("authorization"),      only("host"),          only("origin"), only("x-scope-orgid"),
          request.client_certificate, request.remote_address};
}

Status CheckEventsOrigin(std::string_view origin) {
  const size_t scheme = origin.find("://");
  const std::string_view host =
      scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
  const std::string_view name = origin.substr(0, scheme == std::string_view::npos ? 0 : scheme);
  // Browsers send lower case, and no "/" at the end; what cannot match is a mistake worth telling.
  const bool plain = std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '.' || c == '-' || c == ':' || c == '[' ||
           c == ']';
  });
  if ((name == "http" || name == "https") && !host.empty() && plain) return {};
  return BadInput(
      "--events-origins: \"" + std::string(origin.substr(0, 100)) + "\" is not an origin",
      "write it as browsers do: https://shop.example, or http://localhost:3000");
}

Result<std::string> RandomToken() {
  unsigned char bytes[32];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    return EnvironmentError(std::string("random token: getrandom: ") + std::strerror(errno));
  }
  std::string token;
  for (size_t i = 0; i < sizeof bytes; i += 8) token += ToHex64(LoadBigEndian64(bytes + i));
  return token;
}

}  // namespace wf::security
