// Where a listener binds: "[HOST:]PORT" or "off". Loopback unless a host is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::net {

struct ListenAddress {
  std::string host = "127.0.0.1";
  uint16_t port = 0;  // 0: the system picks a free one
  bool off = false;
};

// "4317", "0.0.0.0:4317", "localhost:0", "[::1]:4317", ":4317" (default host), "off".
Result<ListenAddress> ParseListenAddress(std::string_view text);

// "127.0.0.1:4317", "[::1]:4317", "off": what ParseListenAddress reads.
std::string ToString(const ListenAddress& address);

struct Url {
  bool tls = false;
  std::string host;  // no brackets
  uint16_t port = 0;
  std::string target = "/";  // path and query, as sent

  std::string HostHeader() const;
};

// http:// and https:// only. User names and fragments are rejected, because we would ignore them.
Result<Url> ParseUrl(std::string_view text);

}  // namespace wf::net
