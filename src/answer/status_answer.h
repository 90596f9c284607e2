// `status`: what the store holds, and what was lost, refused or repaired on the way.
#pragma once

#include "answer/frame/answer.h"

namespace wf::answer {

Result<Answer> AnswerStatus(const AnswerContext& context, const Question& question);

}  // namespace wf::answer
