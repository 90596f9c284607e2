// `wherefore policy apply FILE | list | delete NAME`: sampling policies, which clients get within a second.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "answer/policy_answer.h"
#include "cli/question_flags.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "lang/common/yaml_reader.h"

namespace wf::cli {
namespace {

// Plain words that are numbers or truth become those; what is quoted stays text.
void PutScalar(const lang::YamlNode& node, JsonWriter& json) {
  const std::string& text = node.text;
  if (node.plain) {
    const char* end = text.data() + text.size();
    int64_t integer;
    double number;
    if (const auto read = std::from_chars(text.data(), end, integer);
        read.ec == std::errc() && read.ptr == end)
      return (void)json.Int(integer);
    if (const auto read = std::from_chars(text.data(), end, number);
        read.ec == std::errc() && read.ptr == end && std::isfinite(number))
      return (void)json.Double(number);
    if (text == "true" || text == "false") return (void)json.Bool(text == "true");
  }
  json.String(text);
}

void PutNode(const lang::YamlNode& node, JsonWriter& json) {
  switch (node.kind) {
    case lang::YamlNode::Kind::kScalar:
      return PutScalar(node, json);
    case lang::YamlNode::Kind::kList:
      json.BeginArray();
      for (const lang::YamlNode& element : node.items) PutNode(element, json);
      json.EndArray();
      return;
    case lang::YamlNode::Kind::kMap:
      json.BeginObject();
      for (const lang::YamlMember& member : node.members) {
        json.Key(member.name);
        PutNode(member.value, json);
      }
      json.EndObject();
      return;
    case lang::YamlNode::Kind::kNull:
      json.Null();
  }
}

struct NamedPolicy {
  std::string name;
  std::string json;
};

// One policy, or several documents divided by ---. JSON is YAML too.
Result<std::vector<NamedPolicy>> ReadPolicyFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  if (!in) return EnvironmentError(path + ": cannot be read", "does it exist?");
  WF_ASSIGN(const auto documents, lang::ReadYamlDocuments(content.view(), path));
  std::vector<NamedPolicy> policies;
  for (const lang::YamlNode& document : documents) {
    const lang::YamlNode* name = document.Get("policy");
    if (name == nullptr || !name->IsScalar())
      return BadInput(path + ": the policy has no name (policy: NAME)", "see wherefore(1)");
    JsonWriter json;
    PutNode(document, json);
    policies.push_back({name->text, json.Take()});
  }
  if (policies.empty()) return BadInput(path + ": contains no policy", "see wherefore(1)");
  return policies;
}

Status RunPolicy(const std::string& action, const std::string& argument,
                 const CommonFlags& common) {
  if (action == "list") {
    if (!argument.empty()) return BadInput("policy list takes no argument");
    WF_ASSIGN(const auto store, StoreAccess::Open(common.store));
    answer::Question question{"policies", "", {}};
    AddFormat(common.format, question.params);
    WF_ASSIGN(const answer::Answer answer, store->Ask(question));
    return Print(answer.body);
  }
  if (argument.empty()) {
    return BadInput(
        "policy " + action + ": " + (action == "apply" ? "which file?" : "which policy?"),
        "wherefore policy apply FILE | list | delete NAME");
  }
  if (action == "delete") {
    WF_ASSIGN(const auto store, StoreAccess::Open(common.store));
    WF_ASSIGN(const answer::Answer answer, store->DeletePolicy(argument));
    return Print(common.format == "text" ? "deleted " + argument + "\n" : answer.body);
  }
  WF_ASSIGN(const auto policies, ReadPolicyFile(argument));
  WF_ASSIGN(const auto store, StoreAccess::Open(common.store));
  for (const NamedPolicy& policy : policies) {
    WF_ASSIGN(const answer::Answer answer, store->PutPolicy(policy.name, policy.json));
    WF_TRY(Print(common.format == "text" ? "applied " + policy.name + "\n" : answer.body));
  }
  return {};
}

}  // namespace

Verb AddPolicy(CLI::App& root) {
  Verb verb =
      MakeVerb(root, "policy", "Choose which requests are traced: apply FILE, list, delete NAME");
  const auto action = std::make_shared<std::string>();
  const auto argument = std::make_shared<std::string>();
  verb.app->add_option("ACTION", *action, "apply, list or delete")
      ->required()
      ->check(CLI::IsMember({"apply", "list", "delete"}));
  verb.app->add_option("ARGUMENT", *argument, "a YAML file to apply, or the policy to delete");
  verb.run = [common = verb.common, action, argument] {
    return RunPolicy(*action, *argument, *common);
  };
  return verb;
}

}  // namespace wf::cli
