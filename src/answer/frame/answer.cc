#include "answer/frame/answer.h"

#include "json/json_writer.h"

namespace wf::answer {

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
