#include "net/address.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace wf::net {
namespace {

std::optional<uint16_t> ParsePort(std::string_view text) {
  uint16_t port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool IsHost(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  for (char c : host) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '.' || c == '-' || c == '_';
    if (!plain) return false;
  }
  return true;
}

bool IsIpv6(std::string_view host) {
  if (host.empty() || host.find(':') == std::string_view::npos) return false;
  for (char c : host) {
    bool plain = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') ||
                 c == ':' || c == '.';
    if (!plain) return false;
  }
  return true;
}

struct HostAndPort {
  std::string_view host;
  std::string_view port;
  bool has_port = false;
  bool valid = true;
};

// Splits at the last colon outside brackets.
HostAndPort Split(std::string_view text) {
  HostAndPort parts;
  if (!text.empty() && text.front() == '[') {
    size_t close = text.find(']');
    parts.valid = close != std::string_view::npos && IsIpv6(text.substr(1, close - 1));
    if (!parts.valid) return parts;
    parts.host = text.substr(1, close - 1);
    std::string_view rest = text.substr(close + 1);
    parts.has_port = !rest.empty();
    parts.valid = rest.empty() || rest.front() == ':';
    if (parts.has_port && parts.valid) parts.port = rest.substr(1);
    return parts;
  }
  size_t colon = text.find(':');
  parts.host = text.substr(0, colon);
  parts.has_port = colon != std::string_view::npos;
  if (parts.has_port) parts.port = text.substr(colon + 1);
  parts.valid = parts.host.empty() || IsHost(parts.host);
  return parts;
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  ListenAddress address;
  if (text == "off") {
    address.off = true;
    return address;
  }
  auto bad = [&](std::string_view reason) {
    return BadInput(fmt::format("address \"{}\": {}", text, reason),
                    "write [HOST:]PORT, such as 4317, 0.0.0.0:4317 or [::1]:4317, or off");
  };
  if (std::optional<uint16_t> port = ParsePort(text)) {
    address.port = *port;
    return address;
  }
  HostAndPort parts = Split(text);
  if (!parts.valid) return bad("the host is not a name or an IP address");
  if (!parts.has_port) return bad("there is no port");
  std::optional<uint16_t> port = ParsePort(parts.port);
  if (!port) return bad("the port is not a number from 0 to 65535");
  if (!parts.host.empty()) address.host = parts.host;
  address.port = *port;
  return address;
}

std::string ToString(const ListenAddress& address) {
  if (address.off) return "off";
  bool v6 = address.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", address.host, address.port)
            : fmt::format("{}:{}", address.host, address.port);
}

std::string Url::HostHeader() const {
  bool v6 = host.find(':') != std::string::npos;
  std::string text = v6 ? "[" + host + "]" : host;
  if (port != (tls ? 443 : 80)) text += fmt::format(":{}", port);
  return text;
}

Result<Url> ParseUrl(std::string_view text) {
  auto bad = [&](std::string_view reason) {
    return BadInput(fmt::format("URL \"{}\": {}", text, reason),
                    "write http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]");
  };
  Url url;
  std::string_view rest = text;
  if (rest.substr(0, 7) == "http://") {
    rest.remove_prefix(7);
  } else if (rest.substr(0, 8) == "https://") {
    rest.remove_prefix(8);
    url.tls = true;
  } else {
    return bad("it does not begin with http:// or https://");
  }
  for (char c : rest) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '#') {
      return bad("it holds a space, a control character or a fragment");
    }
  }
  size_t slash = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) {
    url.target = rest.substr(slash);
    if (url.target.front() == '?') url.target.insert(0, "/");
  }
  HostAndPort parts = Split(authority);
  if (!parts.valid || parts.host.empty()) return bad("the host is not a name or an IP address");
  url.host = parts.host;
  url.port = url.tls ? 443 : 80;
  if (parts.has_port) {
    std::optional<uint16_t> port = ParsePort(parts.port);
    if (!port || *port == 0) return bad("the port is not a number from 1 to 65535");
    url.port = *port;
  }
  return url;
}

}  // namespace wf::net
