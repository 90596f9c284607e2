// The table of questions that wherefore answers about stored data. Each stands here once; the command line, HTTP, help,
// completion and what others generate are made from it (docs/reference/questions.md). The table includes the rooms of
// src/answer that answer; no room includes the table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answer/questions/question_kind.h"

namespace wf {
class JsonWriter;
}

namespace wf::answer {

const std::vector<QuestionVerb>& QuestionVerbs();
// Of a verb that is in the table.
const QuestionVerb& QuestionVerbOf(std::string_view verb);
// Nullptr if there is none.
const QuestionKind* FindAction(const QuestionVerb& verb, std::string_view action);

// A route of HTTP. What stands for {…} is the question's argument.
struct QuestionRoute {
  const QuestionVerb* verb;
  const QuestionKind* kind;  // kArgument, kParameter: any of them, they have the same routes
  std::string_view method;
  std::string path;  // "/api/v1/trace/{id}"
  QuestionRight right;
};
std::vector<QuestionRoute> QuestionRoutes();
// The question that a request to the route asks.
Question QuestionAt(const QuestionRoute& route, const std::string& argument, Params params,
                    std::string body);

// Finds the question, checks its flags, answers. Unknown verbs and actions are errors, as are unknown, repeated and
// malformed flags.
Result<Answer> Ask(const AnswerContext& context, const Question& question);

// The check of flags by itself: of this kind, with or without an argument.
Status CheckFlags(const QuestionVerb& verb, const QuestionKind& kind, const Question& question,
                  Nanos now);

// "list, columns or query".
std::string ActionNames(const QuestionVerb& verb);
// "dataset query DATASET": the words of the command line.
std::string CommandOf(const QuestionVerb& verb, const QuestionKind& kind);

// The flags of all actions of a verb on the command line, each name once.
struct VerbFlag {
  const QuestionFlag* flag;
  std::string help;  // with the action before it, if only some of them have the flag
};
std::vector<VerbFlag> FlagsOfVerb(const QuestionVerb& verb);
// The formats that --format takes for any of the actions.
std::vector<std::string> FormatsOfVerb(const QuestionVerb& verb);

// The table as a JSON array: docs/reference/questions.md describes it.
void WriteQuestions(JsonWriter& json);

// Parts of the table, by room.
std::vector<QuestionVerb> TraceQuestions();
std::vector<QuestionVerb> DatasetQuestions();
std::vector<QuestionVerb> RecordingQuestions();

}  // namespace wf::answer
