// Dashboards: charts saved together and shared by link. A chart is a dataset and the query part of its page's address; the
// server keeps and checks them but draws nothing.
#pragma once

#include <string>
#include <string_view>

#include "answer/frame/saved_document.h"

namespace wf::answer {

Result<Answer> AnswerDashboards(const AnswerContext& context);
Result<Answer> AnswerDashboard(const AnswerContext& context, const std::string& name);
// With "revision" of what was read ("" of nothing) a save that would undo somebody else's is a conflict.
Result<SaveOutcome> SaveDashboard(const AnswerContext& context, const std::string& name,
                                  std::string_view json);
Result<Answer> DeleteDashboard(const AnswerContext& context, const std::string& name);

}  // namespace wf::answer
