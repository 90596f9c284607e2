// `services`, `operations`, `attributes`: what one may type into a search, from what the store holds.
#pragma once

#include "answer/frame/answer.h"

namespace wf::answer {

Result<Answer> AnswerServices(const AnswerContext& context, const Question& question);
Result<Answer> AnswerOperations(const AnswerContext& context, const Question& question);
// Without an argument the keys, with one the values of that key.
Result<Answer> AnswerAttributes(const AnswerContext& context, const Question& question);

}  // namespace wf::answer
