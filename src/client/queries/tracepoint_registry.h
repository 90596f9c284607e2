// The compiled-in tracepoints of this process. Places are added while static objects are made and libraries loaded, and
// never leave: a library that has tracepoints must not be unloaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wherefore/tracepoint.h"

namespace wherefore::client {

// All places, in the order of their registration reversed. Follow `next`.
internal::Tracepoint* FirstTracepoint();
// Grows with every registration.
uint64_t TracepointCount();

// The names of fields in the text of the macro's arguments: {"delta", delta}, {"b", f(x, "y")} → delta, b.
std::vector<std::string> FieldNames(std::string_view text);

struct TracepointKind {  // places of one name
  std::string name;
  std::vector<std::string> exports;  // of all of them, each once
};
std::vector<TracepointKind> TracepointKinds();  // by name

}  // namespace wherefore::client
