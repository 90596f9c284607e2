#include "answer/dataset/property_groups_answer.h"

#include <fmt/format.h>

#include "json/json_reader.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

const DocumentPlace kPlace{"property_groups", "shared"};
constexpr size_t kMaxGroups = 100, kMaxKeys = 500, kMaxText = 200;

struct Group {
  std::string name;
  std::vector<std::string> keys;
};

Error Bad(const std::string& why) {
  return BadInput("property groups: " + why, "api/openapi.yaml describes them");
}

Result<std::vector<Group>> Parse(const JsonValue& root) {
  std::vector<Group> out;
  const JsonValue groups = root.Get("groups");
  if (!groups.IsArray() || groups.size() > kMaxGroups)
    return Bad(fmt::format("groups must be an array of at most {}", kMaxGroups));
  const auto text = [](const JsonValue& value) {
    return value.IsString() && !value.String().empty() && value.String().size() <= kMaxText;
  };
  for (const JsonValue value : groups.Elements()) {
    Group& group = out.emplace_back();
    const JsonValue keys = value.Get("keys");
    if (!text(value.Get("name")))
      return Bad(fmt::format("group {} needs a name of at most {} bytes", out.size(), kMaxText));
    group.name = value.Get("name").String();
    if (!keys.IsArray() || keys.size() == 0 || keys.size() > kMaxKeys)
      return Bad(fmt::format("group {} needs 1 to {} keys", out.size(), kMaxKeys));
    for (const JsonValue key : keys.Elements()) {
      if (!text(key))
        return Bad(
            fmt::format("group {}: a key is a text of at most {} bytes", out.size(), kMaxText));
      group.keys.emplace_back(key.String());
    }
  }
  return out;
}

void Write(const std::vector<Group>& groups, JsonWriter& json) {
  json.Key("groups").BeginArray();
  for (const Group& group : groups) {
    json.BeginObject().Field("name", group.name).Key("keys").BeginArray();
    for (const std::string& key : group.keys) json.String(key);
    json.EndArray().EndObject();
  }
  json.EndArray();
}

Answer GroupsJson(const std::vector<Group>& groups, const std::string& revision) {
  JsonWriter json;
  json.BeginObject();
  Write(groups, json);
  json.Field("revision", revision).EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace

Result<Answer> AnswerPropertyGroups(const AnswerContext& context) {
  WF_ASSIGN(const auto document, FindDocument(context, kPlace));
  if (!document) return GroupsJson({}, "");
  JsonParser parser;
  WF_ASSIGN(const JsonValue root, parser.Parse(document->text));
  WF_ASSIGN(const auto groups, Parse(root));
  return GroupsJson(groups, RevisionOf(document->text));
}

Result<SaveOutcome> SavePropertyGroups(const AnswerContext& context, std::string_view body) {
  JsonParser parser;
  WF_ASSIGN(const JsonValue root, parser.Parse(body));
  WF_ASSIGN(const auto groups, Parse(root));
  std::optional<std::string> expected;
  if (root.Get("revision").IsString()) expected = root.Get("revision").String();
  JsonWriter kept;
  kept.BeginObject();
  Write(groups, kept);
  kept.EndObject();
  const std::string text = kept.Take();
  WF_ASSIGN(const bool saved, PutIfUnchanged(context, kPlace, text, expected));
  if (!saved) return ConflictOn("property groups");
  return SaveOutcome{GroupsJson(groups, RevisionOf(text))};
}

}  // namespace wf::answer
