// Which part of the work a process does. One process may do all of it; in a cluster many processes each do one part, over a
// bus and a store that they share (docs/use/cluster.md).
//
//   receive   senders → decode → bus            OTLP, Zipkin, Jaeger, events, and the control connection of clients
//   tail      bus → store, and rows of datasets  health and metrics only
//   query     store → answers                    web interface and API
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::cluster {

enum class Role : uint8_t { kAll, kReceive, kTail, kQuery };

struct RoleParts {
  bool receives = false, tails = false, answers = false;
  // Processes that receive from clients or answer questions about them send policies, queries and tracepoints
  // to clients.
  bool controls() const { return receives || answers; }
};

Result<Role> ParseRole(std::string_view text);
std::string_view RoleName(Role role);
RoleParts PartsOf(Role role);

}  // namespace wf::cluster
