// `traces`: which requests were there, newest first. Its flags → TraceQuery serve `critical-path` of many, too.
#pragma once

#include "answer/frame/answer.h"
#include "store/store.h"

namespace wf::answer {

Result<Answer> AnswerTraces(const AnswerContext& context, const Question& question);

Result<store::TraceQuery> ParseTraceQuery(const Params& params, Nanos now);
std::string FormatCursor(const store::SearchCursor& cursor);
Result<store::SearchCursor> ParseCursor(std::string_view text);

}  // namespace wf::answer
