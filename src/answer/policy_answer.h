// Sampling policies (Canopy §4.1): kept here, obeyed by the client library, to which the server hands them.
//
//   {"policy":NAME,"owner":TEXT,"probability":0..1 | "rate":traces per second,"where":{PROPERTY:VALUE|[VALUE…]},
//    "reached":PATH,"detail":0..3,"lifetime":DURATION | "expires_ns":INSTANT}
//
// A policy is checked when it is put, written in this order of keys, and its lifetime becomes the instant it ends.
#pragma once

#include <string>
#include <string_view>

#include "answer/frame/answer.h"

namespace wf::answer {

// All that have not ended, by name: a JSON array.
Result<std::string> ReadPolicies(const AnswerContext& context);

Result<Answer> AnswerPolicies(const AnswerContext& context, const Question& question);

// `json` is the policy; its name, when it has one, is `name`. The answer is the policy as it is kept.
Result<Answer> PutPolicy(const AnswerContext& context, const std::string& name,
                         std::string_view json);
// {"deleted":NAME}; NotFound when there is none.
Result<Answer> DeletePolicy(const AnswerContext& context, const std::string& name);

}  // namespace wf::answer
