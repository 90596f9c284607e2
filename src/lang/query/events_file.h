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
  // Unknown members of events, and how often they occurred.
  std::map<std::string, uint64_t> ignored_members;
};

// Errors name `file` and the line.
Result<EventsFile> ReadEvents(std::string_view text, std::string_view file);

// Writes the text; reading it gives the same execution.
std::string WriteEvents(const Execution& execution);

}  // namespace wf::query
