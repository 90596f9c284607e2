// `wherefore query 'Q'` without --events, --stored, --pid or --exe: asks the running system, by way of the server that
// its processes and agents are connected to.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/live_server.h"
#include "cli/verbs.h"

namespace CLI {
class App;
}

namespace wf::cli {

struct LiveQueryFlags {
  LiveServerFlags server;
  std::string interval = "1s", for_, count_first, max_packed, name, dataset, remove;
  bool total = false, standing = false, list = false;
};

// --max-packed: "T" or "T:B"; empty: 256:3000.
struct PackLimit {
  int64_t tuples = 256, bytes = 3000;
};
Result<PackLimit> ParsePackLimit(const std::string& text);

void AddLiveQueryFlags(CLI::App& app, LiveQueryFlags& flags);

// `text` is the query; empty with --list and --remove.
Status RunLiveQuery(const std::string& text, const LiveQueryFlags& flags,
                    const CommonFlags& common);

}  // namespace wf::cli
