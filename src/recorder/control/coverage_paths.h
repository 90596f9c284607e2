// How a program compiled with -fsanitize-coverage=trace-pc got from one block to the next. The compiler put a
// call of __sanitizer_cov_trace_pc into each block; a run is known by the return addresses of those calls.
// The code between two such addresses has no other such call, so the branches are found by walking it.
//
// Calls of other functions are stepped over: the blocks of those were recorded themselves. Where a jump
// through a table is in between, only that jump can lead on, so it is the branch.
//
// A function may end with a jump to __sanitizer_cov_trace_pc instead of a call. The return address is then
// its caller's, after the call of the function.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "recorder/control/thunk.h"

namespace wf::recorder {

class CoveragePaths {
 public:
  explicit CoveragePaths(CodeAt code) : code_(std::move(code)) {}

  using Way = std::optional<
      std::vector<Thunk>>;  // the thunks begun on the way; empty: there is no such way

  // The callee of the call that returns to an address: direct, or through a pointer at a fixed address.
  struct Callee {
    std::optional<uint64_t> target;
    std::optional<uint64_t> slot;
    auto operator<=>(const Callee&) const = default;
  };
  std::optional<Callee> CalleeBefore(uint64_t return_address) const;

  // From the return address `from` to the return address `to` within one call of a function. Computed once
  // for each pair; valid for the life of this object.
  const Way& Between(uint64_t from, uint64_t to);
  // From `from` to a jump that replaces the call.
  const Way& ToTail(uint64_t from) { return Between(from, 0); }

 private:
  Way Search(uint64_t from, uint64_t to) const;

  CodeAt code_;
  std::map<std::pair<uint64_t, uint64_t>, Way> known_;
};

}  // namespace wf::recorder
