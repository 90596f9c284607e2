#include "answer/frame/answer.h"

#include "answer/dataset/dataset_answer.h"
#include "answer/explain/explain_answer.h"
#include "answer/frame/text_style_params.h"
#include "answer/paths/paths_output.h"
#include "json/json_writer.h"

namespace wf::answer {

const std::vector<QuestionKind>& QuestionKinds() {
  static const std::vector<QuestionKind> kinds = {
      {"traces", ArgumentUse::kNone, AnswerTraces},
      {"trace", ArgumentUse::kRequired, AnswerTrace},
      {"critical-path", ArgumentUse::kOptional, AnswerCriticalPath},
      {"explain", ArgumentUse::kOptional, AnswerExplain, BodyUse::kOptional},
      {"paths", ArgumentUse::kNone, AnswerPaths},
      {"status", ArgumentUse::kNone, AnswerStatus},
      {"services", ArgumentUse::kNone, AnswerServices},
      {"operations", ArgumentUse::kNone, AnswerOperations},
      {"attributes", ArgumentUse::kOptional, AnswerAttributes},
      {"resource", ArgumentUse::kNone, AnswerResource},
      {"feature", ArgumentUse::kRequired, AnswerFeature, BodyUse::kOptional},
      {"policies", ArgumentUse::kNone, AnswerPolicies},
      {"query", ArgumentUse::kNone, AnswerQuery, BodyUse::kOptional},
      {"cpg", ArgumentUse::kRequired, AnswerStoredRecording},
  };
  return kinds;
}

namespace {

Result<Answer> AskStyled(const AnswerContext& context, const Question& question) {
  // Rows and pictures can be had in more forms; other answers are JSON or text.
  const bool rows = question.verb == "dataset" &&
                    (question.argument.rfind("query/", 0) == 0 || question.argument == "sql");
  if (rows) {
    WF_TRY(question.params.Choice("format", {"text", "json", "csv", "parquet"}));
  } else if (question.verb == "explain") {
    WF_TRY(question.params.Choice("format", {"text", "json", "dot", "svg", "events"}));
  } else if (question.verb == "cpg") {
    WF_TRY(question.params.Choice("format", {"text", "json", "dot", "svg", "csv"}));
  } else if (question.verb == "paths") {
    WF_TRY(question.params.Choice("format", {"text", "json", "dot", "svg"}));
  } else {
    WF_TRY(question.params.Choice("format", {"text", "json"}));
  }
  if (question.verb == "dataset") return AnswerDataset(context, question);
  for (const QuestionKind& kind : QuestionKinds()) {
    if (kind.verb == question.verb) return kind.answer(context, question);
  }
  return NotFound("\"" + question.verb + "\" is not a question", "wherefore --help lists them");
}

}  // namespace

Result<Answer> Ask(const AnswerContext& context, const Question& question) {
  Question rest = question;
  WF_ASSIGN(const TextStyle style, TakeTextStyle(rest.params));
  const ScopedTextStyle scope(style);
  return AskStyled(context, rest);
}

bool WantsText(const Question& question) { return question.params.Get("format") == "text"; }

Answer TextAnswer(std::string text) {
  if (text.empty() || text.back() != '\n') text.push_back('\n');
  return {"text/plain; charset=utf-8", std::move(text)};
}

Answer JsonAnswer(std::string json) {
  json.push_back('\n');
  return {"application/json", std::move(json)};
}

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kBadInput:
      return "bad_input";
    case ErrorCode::kEnvironment:
      return "environment";
    case ErrorCode::kOverloaded:
      return "overloaded";
    case ErrorCode::kDenied:
      return "denied";
  }
  return "environment";
}

ErrorCode ErrorCodeFromName(std::string_view name) {
  for (ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kBadInput, ErrorCode::kEnvironment,
                         ErrorCode::kOverloaded, ErrorCode::kDenied}) {
    if (ErrorCodeName(code) == name) return code;
  }
  return ErrorCode::kEnvironment;
}

std::string ErrorJson(const Error& error) {
  JsonWriter json;
  json.BeginObject().Key("error").BeginObject();
  json.Field("code", ErrorCodeName(error.code))
      .Field("message", error.message)
      .Field("hint", error.hint);
  json.EndObject().EndObject();
  return json.Take() + "\n";
}

}  // namespace wf::answer
