// How many branches a recording holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::recorder {

// The branches in one piece of a thread's stream, as a chunk holds it: branches from qemu, entered blocks
// from coverage. Empty if counting needs the code (Intel PT). Malformed bytes end the count.
std::optional<uint64_t> BranchesInPiece(std::string_view piece);

// Reads the file again; it may be larger than memory.
Result<std::optional<uint64_t>> CountBranches(const std::string& file);

}  // namespace wf::recorder
