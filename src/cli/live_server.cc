#include "cli/live_server.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "net/address.h"
#include "server/server_file.h"

namespace wf::cli {

void AddLiveServerFlags(CLI::App& app, LiveServerFlags& flags) {
  app.add_option("--server", flags.server,
                 "http(s)://host:port of the server (default: the server of --store)");
  app.add_option("--token-file", flags.token_file,
                 "file with the administrator's token, or a server's server.json");
}

Result<std::string> LiveServerToken(const LiveServerFlags& flags, const std::string& store) {
  if (!flags.token_file.empty()) return ReadTokenFile(flags.token_file);
  if (const char* given = std::getenv("WHEREFORE_TOKEN"); given != nullptr && *given != '\0')
    return std::string(given);
  const auto file = server::ReadServerFile(store);
  const auto wanted = net::ParseUrl(flags.server);
  if (!file.ok() || !wanted.ok()) return std::string();
  for (const auto& [name, address] : file->listeners) {
    if (name != "http" || address == "off") continue;
    const auto own = net::ParseUrl("http://" + address);
    if (wanted->tls == file->tls_cert.empty()) continue;  // a token is for that very server
    const bool same_host = own.ok() && (own->host == wanted->host || wanted->host == "localhost");
    if (same_host && own->port == wanted->port) return file->token;
  }
  return std::string();
}

Result<std::unique_ptr<StoreAccess>> OpenLiveServer(const LiveServerFlags& flags,
                                                    const std::string& store) {
  if (!flags.server.empty()) {
    if (const auto url = net::ParseUrl(flags.server); !url.ok())
      return BadInput("--server: " + url.error().message, url.error().hint);
    WF_ASSIGN(const std::string token, LiveServerToken(flags, store));
    return StoreAccess::Open(flags.server, token);
  }
  std::string token;
  if (!flags.token_file.empty()) {
    WF_ASSIGN(token, ReadTokenFile(flags.token_file));
  }
  if (store.find("://") == std::string::npos) {
    if (const auto file = server::ReadServerFile(store); !file.ok())
      return EnvironmentError(file.error().message,
                              "start it (wherefore serve), or name one: --server http://host:port");
  }
  return StoreAccess::Open(store, token);
}

}  // namespace wf::cli
