// Message: all that a black box shows of a communication (Aguilera et al.): when, what kind, who to whom, which id.
#pragma once

#include <cstdint>
#include <string>

#include "base/nanos.h"

namespace wf {

struct Message {
  Nanos time_ns = 0;
  std::string kind;  // "call", "return", "message", ...
  std::string sender, receiver;
  std::string id;
  bool operator==(const Message&) const = default;
};

}  // namespace wf
