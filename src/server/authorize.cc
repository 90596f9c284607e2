#include "server/authorize.h"

#include <sys/random.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "base/ids.h"

namespace wf {
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

// Takes as long for a wrong token as for a right one.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

std::string_view RightName(Right right) {
  switch (right) {
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

Result<Principal> Authorizer::Authorize(const Credentials& credentials, Right needed,
                                        HostCheck host_check) const {
  WF_TRY(CheckHost(credentials, host_check));
  Principal principal;
  principal.rights = static_cast<uint8_t>(Right::kRead) | static_cast<uint8_t>(Right::kWrite);
  constexpr std::string_view kBearer = "Bearer ";
  if (credentials.authorization.substr(0, kBearer.size()) == kBearer) {
    if (!SameSecret(credentials.authorization.substr(kBearer.size()), admin_token_)) {
      return Denied("the token is not known here",
                    "the administrator's token is in the store's server.json");
    }
    principal.rights |= static_cast<uint8_t>(Right::kAdminister);
  }
  if (!principal.Has(needed)) {
    return Denied("this needs the right to " + std::string(RightName(needed)),
                  "send \"Authorization: Bearer TOKEN\" with the token in the store's server.json");
  }
  return principal;
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

}  // namespace wf
