// `resource`: everything that ran on a resource (host, thread, lock, queue, …) in a time range.
#pragma once

#include "answer/frame/answer.h"

namespace wf::answer {

Result<Answer> AnswerResource(const AnswerContext& context, const Question& question);

}  // namespace wf::answer
