// `wherefore watch` without --locks or --egress: messages between processes, as they are sent and received.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "cli/verbs.h"

namespace wf::cli {

struct WatchMessagesFlags {
  std::vector<int> pids;
  std::vector<std::string> programs;  // globs
  std::vector<int> ports;
  std::string by = "name";
  std::string out;  // message text; empty: none is kept
};

// Until `end` (monotonic) or `stopped` says so; then prints what `paths` prints of it.
Status WatchMessages(const WatchMessagesFlags& flags, Nanos end,
                     const std::function<bool()>& stopped, const CommonFlags& common);

}  // namespace wf::cli
