// How many branches a recording holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::recorder {

// Of one piece of a thread's stream, which is what a chunk of branches holds: branches as qemu tells them, blocks entered
// as coverage does. None if it takes decoding along the code to know (Intel PT). What is malformed ends the count.
std::optional<uint64_t> BranchesInPiece(std::string_view piece);

// Reads the file again; it may be larger than memory.
Result<std::optional<uint64_t>> CountBranches(const std::string& file);

}  // namespace wf::recorder
