// The server that live verbs talk to: --server and --token-file, else the one that holds --store.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/store_access.h"

namespace CLI {
class App;
}

namespace wf::cli {

struct LiveServerFlags {
  std::string server, token_file;
};

void AddLiveServerFlags(CLI::App& app, LiveServerFlags& flags);

// The token: of --token-file, else $WHEREFORE_TOKEN, else of the server.json of `store` if that server is the one named.
Result<std::string> LiveServerToken(const LiveServerFlags& flags, const std::string& store);
Result<std::unique_ptr<StoreAccess>> OpenLiveServer(const LiveServerFlags& flags,
                                                    const std::string& store);

}  // namespace wf::cli
