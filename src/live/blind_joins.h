// Joins of a live query that can never find anything: a compiled-in tracepoint packs into the process's
// baggage, which advice in the kernel cannot read (docs/use/weaving.md).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "advice/program.h"

namespace wf::live {

// One sentence for each such join. `woven` and `compiled_in` are the known tracepoints, and may share names.
std::vector<std::string> BlindJoins(const advice::Program& program,
                                    const std::set<std::string>& woven,
                                    const std::set<std::string>& compiled_in);

}  // namespace wf::live
