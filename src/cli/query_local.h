// `wherefore query 'Q' --pid P | --exe G`: woven into processes of this host by this command itself, without a server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/query_live.h"
#include "cli/verbs.h"

namespace CLI {
class App;
}

namespace wf::cli {

struct LocalQueryFlags {
  std::vector<int> pids;
  std::vector<std::string> exes, tracepoint_files;
  std::string link = "auto";
  uint32_t string_bytes = 64;

  bool asked_for() const { return !pids.empty() || !exes.empty(); }
};

void AddLocalQueryFlags(CLI::App& app, LocalQueryFlags& flags);

// How often, how long and whether only in total: as of live queries.
Status RunLocalQuery(const std::string& text, const LocalQueryFlags& flags,
                     const LiveQueryFlags& live, const CommonFlags& common);

}  // namespace wf::cli
