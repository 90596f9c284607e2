// Verbs of the command line that ask questions: their flags are declared as the table of questions has them, and what
// is given becomes the question's parameters under the same names with `_`.
#pragma once

#include "answer/questions/questions.h"
#include "cli/verbs.h"

namespace wf::cli {

// The verb with its summary, flags and formats. Arguments are the caller's.
Verb MakeQuestionVerb(CLI::App& root, const answer::QuestionVerb& asks);

// The flags of the table that were given, by the command line, the environment or the configuration. `format` is not
// among them.
answer::Params GivenFlags(const CLI::App& app, const answer::QuestionVerb& asks);
// Adds the format, unless it is what HTTP gives without one.
void AddFormat(const std::string& format, answer::Params& params);

// A verb that only asks: one question, perhaps with an argument.
Verb AddQuestion(CLI::App& root, std::string_view verb);

}  // namespace wf::cli
