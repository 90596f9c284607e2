// Search: flags → TraceQuery, shared by `traces`, the UI and tests.
#pragma once

#include "answer/frame/params.h"
#include "store/store.h"

namespace wf {

Result<TraceQuery> ParseTraceQuery(const Params& params, Nanos now);
std::string FormatCursor(const SearchCursor& cursor);
Result<SearchCursor> ParseCursor(std::string_view text);

}  // namespace wf
