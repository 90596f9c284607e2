// Events as JSON lines, docs/reference/query-language.md "A file of events" → an execution.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lang/query/execution.h"

namespace wf::query {

struct EventsFile {
  Execution execution;
  // Members of events that mean nothing to us, and how often they stood there.
  std::map<std::string, uint64_t> ignored_members;
};

// Errors name `file` and the line.
Result<EventsFile> ReadEvents(std::string_view text, std::string_view file);

// The same as text; what is read from it is the same execution.
std::string WriteEvents(const Execution& execution);

}  // namespace wf::query
