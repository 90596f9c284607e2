// Message: all that a black box shows of a communication (Aguilera et al.): when, what kind, who to whom, which id.
#pragma once

#include <cstdint>
#include <string>

#include "base/nanos.h"

namespace wf {

struct Message {
  Nanos time_ns = 0;
  std::string kind;  // CALL, RET, MSG, plain or with _SENT or _RCVD: whose clock the time is by
  std::string sender, receiver;
  std::string id;
  std::string keys = {};  // `thread=7 conn=a`, as written
  bool operator==(const Message&) const = default;
};

}  // namespace wf
