// Thunks: what a sub-computation ran between two branches (INSPECTOR §IV-A I). Thunk 0 begins the
// sub-computation; a branch begins each later one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "recorder/format/branches.h"

namespace wf::recorder {

struct Thunk {
  uint64_t start = 0;   // its first instruction; 0 if unknown
  uint64_t branch = 0;  // the branch instruction that began it; 0 for thunk 0
  bool taken = false;   // whether the branch was taken; always true for an indirect one
  bool operator==(const Thunk&) const = default;
};

// Called for each thunk in order. A sub-computation may have more of them than fit into memory.
using ThunkSink = std::function<void(const Thunk&)>;

// The code that was mapped at `address` when it ran, up to the end of its mapping; empty if unknown. Valid
// for the life of its provider.
using CodeAt = std::function<std::string_view(uint64_t address)>;

}  // namespace wf::recorder
