// Search: flags → TraceQuery, shared by `traces`, the UI and tests.
#pragma once

#include "answer/frame/params.h"
#include "store/store.h"

namespace wf::answer {

Result<store::TraceQuery> ParseTraceQuery(const Params& params, Nanos now);
std::string FormatCursor(const store::SearchCursor& cursor);
Result<store::SearchCursor> ParseCursor(std::string_view text);

}  // namespace wf::answer
