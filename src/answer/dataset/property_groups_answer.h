// Property groups: named lists of keys that the web interface's inspector shows first, one list for everybody who reads
// this tenant's traces. Kept as a document, beside dashboards.
#pragma once

#include <string_view>

#include "answer/frame/saved_document.h"

namespace wf::answer {

// {"groups":[{"name","keys"}],"revision"}; none saved: no groups, revision "".
Result<Answer> AnswerPropertyGroups(const AnswerContext& context);
// All of them at once, in the order in which they are shown.
Result<SaveOutcome> SavePropertyGroups(const AnswerContext& context, std::string_view json);

}  // namespace wf::answer
