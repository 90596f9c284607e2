// How this process's own clients reach a server: whom they trust, what they show, whom they act for. One for the process,
// set by main from the common flags before the verb runs, read afterwards.
#pragma once

#include <string>

#include "net/http_client.h"

namespace wf::cli {

struct ClientSettings {
  std::string ca;           // PEM, for https; empty: the system's roots
  std::string certificate;  // PEM, ours, for servers that ask for one
  std::string key;          // of it; empty: in the same file
  std::string tenant;       // empty: the token's first, or "default"

  std::string LocalTenant() const { return tenant.empty() ? "default" : tenant; }
  void ApplyTo(net::HttpClientOptions& options) const {
    options.ca_file = ca;
    options.certificate_file = certificate;
    options.key_file = key;
  }
  // Authorization and X-Scope-OrgID, as far as there is something to say.
  net::HttpClient::Headers Headers(const std::string& token) const {
    net::HttpClient::Headers headers;
    if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
    if (!tenant.empty()) headers.emplace_back("X-Scope-OrgID", tenant);
    return headers;
  }
};

inline ClientSettings& TheClientSettings() {
  static ClientSettings settings;
  return settings;
}

}  // namespace wf::cli
