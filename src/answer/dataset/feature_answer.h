// `feature check` and `feature run`: is a program of the feature language right, and what does it give for one trace?
#pragma once

#include "answer/frame/answer.h"

namespace wf::answer {

Result<Answer> AnswerFeatureCheck(const AnswerContext& context, const Question& question);
Result<Answer> AnswerFeatureRun(const AnswerContext& context, const Question& question);

}  // namespace wf::answer
