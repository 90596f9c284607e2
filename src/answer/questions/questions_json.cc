// The table as JSON, for tools that make something of it.
#include "answer/questions/questions.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

std::string_view TypeName(FlagType type) {
  switch (type) {
    case FlagType::kText:
      return "text";
    case FlagType::kSwitch:
      return "switch";
    case FlagType::kDuration:
      return "duration";
    case FlagType::kInstant:
      return "instant";
    case FlagType::kInteger:
      return "integer";
    case FlagType::kChoice:
      return "choice";
  }
  return "text";
}

std::string_view CaseName(FlagCase which) {
  switch (which) {
    case FlagCase::kAlways:
      return "always";
    case FlagCase::kWithArgument:
      return "with_argument";
    case FlagCase::kWithoutArgument:
      return "without_argument";
  }
  return "always";
}

std::string_view BodyName(BodyUse use) {
  switch (use) {
    case BodyUse::kNone:
      return "none";
    case BodyUse::kOptional:
      return "optional";
    case BodyUse::kRequired:
      return "required";
  }
  return "none";
}

void WriteTextOrNull(std::string_view key, std::string_view text, JsonWriter& json) {
  json.Key(key);
  text.empty() ? json.Null() : json.String(text);
}

void WriteWords(std::string_view key, const std::vector<std::string_view>& words,
                JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const std::string_view word : words) json.String(word);
  json.EndArray();
}

void WriteFlag(const QuestionFlag& flag, JsonWriter& json) {
  json.BeginObject().Field("name", flag.name);
  WriteTextOrNull("flag", flag.door == FlagDoor::kEverywhere ? FlagName(flag.name) : "", json);
  json.Field("type", TypeName(flag.type));
  WriteTextOrNull("value", ValueName(flag), json);
  WriteTextOrNull("unit", flag.unit, json);
  const bool bounded = flag.type == FlagType::kInteger;
  json.Key("min");
  bounded&& flag.min != INT64_MIN ? json.Int(flag.min) : json.Null();
  json.Key("max");
  bounded&& flag.max != INT64_MAX ? json.Int(flag.max) : json.Null();
  WriteWords("choices", flag.choices, json);
  WriteTextOrNull("default", flag.by_default, json);
  json.Field("required", flag.need == FlagNeed::kRequired);
  json.Field("repeatable", flag.count == FlagCount::kRepeatable);
  json.Field("case", CaseName(flag.when));
  json.Field("help", flag.help).EndObject();
}

void WriteArgument(const QuestionArgument& argument, JsonWriter& json) {
  json.Key("argument");
  if (argument.use == ArgumentUse::kNone) return (void)json.Null();
  json.BeginObject()
      .Field("name", argument.name)
      .Field("required", argument.use == ArgumentUse::kRequired)
      .Field("help", argument.help)
      .EndObject();
}

// `path` is what one asks, `pattern` how the server and the API's description write the route.
void WriteRoutes(const QuestionVerb& verb, const QuestionKind& kind,
                 const std::vector<QuestionRoute>& routes, JsonWriter& json) {
  json.Key("routes").BeginArray();
  for (const QuestionRoute& route : routes) {
    const bool own = verb.place == ActionPlace::kPath ? route.kind == &kind : route.verb == &verb;
    if (!own) continue;
    std::string path = route.path;
    if (verb.place == ActionPlace::kArgument)
      path = path.substr(0, path.find('{')) + std::string(kind.action);
    json.BeginObject().Field("method", route.method).Field("path", path);
    json.Field("pattern", route.path).EndObject();
  }
  json.EndArray();
}

void WriteKind(const QuestionVerb& verb, const QuestionKind& kind,
               const std::vector<QuestionRoute>& routes, JsonWriter& json) {
  json.BeginObject().Field("verb", verb.verb);
  WriteTextOrNull("action", kind.action, json);
  json.Field("command", "wherefore " + CommandOf(verb, kind));
  json.Field("summary", kind.summary);
  WriteTextOrNull("help", kind.help, json);
  WriteArgument(kind.argument, json);
  json.Key("flags").BeginArray();
  for (const QuestionFlag& flag : kind.flags) WriteFlag(flag, json);
  json.EndArray();
  WriteWords("formats", kind.formats, json);
  WriteWords("request_formats", kind.request_formats, json);
  json.Field("right", kind.right == QuestionRight::kRead ? "read" : "write");
  json.Field("body", BodyName(kind.body));
  WriteTextOrNull("body_help", kind.body_help, json);
  WriteTextOrNull("what", verb.place == ActionPlace::kParameter ? kind.action : "", json);
  WriteRoutes(verb, kind, routes, json);
  json.EndObject();
}

}  // namespace

void WriteQuestions(JsonWriter& json) {
  const std::vector<QuestionRoute> routes = QuestionRoutes();
  json.BeginArray();
  for (const QuestionVerb& verb : QuestionVerbs()) {
    for (const QuestionKind& kind : verb.kinds) WriteKind(verb, kind, routes, json);
  }
  json.EndArray();
}

}  // namespace wf::answer
