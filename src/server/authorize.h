// Who may do what. Every route of every listener declares the right it needs and passes Authorize once; what a request
// may see follows from the Principal it returns, and from nothing else.
//
// Until tokens are configured, anyone who reaches a listener (loopback unless told otherwise) may read and write; to
// administer one needs the random token that stands in server.json, which only the owner of the store can read.
//
// A page of some other site, open in a browser on this machine, can also send requests to loopback. So Host must name
// this machine (DNS rebinding sends a foreign name) and Origin, when a browser sends one, must be that same host. One
// exception, and only if the administrator lists origins: pages of those may send events, and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf {

enum class Right : uint8_t { kRead = 1, kWrite = 2, kAdminister = 4 };
std::string_view RightName(Right right);

struct Principal {
  std::string tenant = "default";
  uint8_t rights = 0;
  bool Has(Right right) const { return (rights & static_cast<uint8_t>(right)) != 0; }
};

// What Authorize looks at; views into the request.
struct Credentials {
  std::string_view authorization;  // the header's value
  std::string_view host;
  std::string_view origin;
};

enum class HostCheck {
  kStrict,   // Host must be a loopback name, an IP literal or an allowed host: what browsers open
  kAnyHost,  // receivers on a network: senders use any name for us; Origin is still checked
  kEventPages,  // as kAnyHost, but pages of listed origins may send too: the one route that events go to
};

class Authorizer {
 public:
  Authorizer(std::string admin_token, std::vector<std::string> allowed_hosts,
             std::vector<std::string> events_origins = {})
      : admin_token_(std::move(admin_token)),
        allowed_hosts_(std::move(allowed_hosts)),
        events_origins_(std::move(events_origins)) {}

  Result<Principal> Authorize(const Credentials& credentials, Right needed,
                              HostCheck host_check) const;

  // Whether pages of this origin ("https://shop.example") may send events.
  bool SendsEvents(std::string_view origin) const;

 private:
  Status CheckHost(const Credentials& credentials, HostCheck host_check) const;
  bool HostAllowed(std::string_view host) const;

  std::string admin_token_;
  std::vector<std::string> allowed_hosts_;
  std::vector<std::string> events_origins_;
};

// "https://shop.example" or "http://localhost:3000": scheme, host and port as browsers send them, and nothing after. There is no
// "every origin": any page anywhere could then fill the store.
Status CheckEventsOrigin(std::string_view origin);

// 32 random bytes as hex, from the system.
Result<std::string> RandomToken();

}  // namespace wf
