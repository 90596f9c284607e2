// Joins of a live query that will find nothing, whatever happens: what a compiled-in tracepoint packs is in the process's
// baggage, where advice in the kernel does not see it (docs/use/weaving.md).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "advice/program.h"

namespace wf::live {

// A sentence for each; `woven` and `compiled_in` are what is known of tracepoints, and may share names.
std::vector<std::string> BlindJoins(const advice::Program& program,
                                    const std::set<std::string>& woven,
                                    const std::set<std::string>& compiled_in);

}  // namespace wf::live
