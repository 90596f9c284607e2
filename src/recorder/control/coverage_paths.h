// How a program compiled with -fsanitize-coverage=trace-pc came from one block to the next. The compiler put a call of
// __sanitizer_cov_trace_pc into each block; what is known of a run is where those calls returned to. Between two such
// addresses lies code without another such call, so the branches are found by walking it.
//
// Calls of other functions are stepped over: what those ran was seen by itself. Where a jump through a table lies
// between, nothing but that jump can have led on, so it is taken for the branch.
//
// The last thing that a function does may be to jump to __sanitizer_cov_trace_pc instead of calling it. The return
// address is then its caller's, behind the call of the function.
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

  using Way =
      std::optional<std::vector<Thunk>>;  // the thunks begun on it; none: there is no such way

  // What the call that returns to an address calls: directly, or through a pointer at a fixed address.
  struct Callee {
    std::optional<uint64_t> target;
    std::optional<uint64_t> slot;
    auto operator<=>(const Callee&) const = default;
  };
  std::optional<Callee> CalleeBefore(uint64_t return_address) const;

  // From the return address `from` to the return address `to` within one call of a function. Computed once for each
  // pair; valid as long as this object.
  const Way& Between(uint64_t from, uint64_t to);
  // From `from` to a jump that takes the place of the call.
  const Way& ToTail(uint64_t from) { return Between(from, 0); }

 private:
  Way Search(uint64_t from, uint64_t to) const;

  CodeAt code_;
  std::map<std::pair<uint64_t, uint64_t>, Way> known_;
};

}  // namespace wf::recorder
