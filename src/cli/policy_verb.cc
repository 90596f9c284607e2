// `wherefore policy apply FILE | list | delete NAME`: sampling policies, which clients get within a second.
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>

#include "answer/policy_answer.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "json/json_writer.h"

namespace wf {
namespace {

// Plain words that YAML reads as numbers or truth become those; what is quoted stays text.
void PutScalar(const YAML::Node& node, JsonWriter& json) {
  if (node.Tag() != "!") {
    int64_t integer;
    double number;
    bool truth;
    if (YAML::convert<int64_t>::decode(node, integer)) return (void)json.Int(integer);
    if (YAML::convert<double>::decode(node, number)) return (void)json.Double(number);
    if (YAML::convert<bool>::decode(node, truth)) return (void)json.Bool(truth);
  }
  json.String(node.Scalar());
}

void PutNode(const YAML::Node& node, JsonWriter& json) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return PutScalar(node, json);
    case YAML::NodeType::Sequence:
      json.BeginArray();
      for (const YAML::Node& element : node) PutNode(element, json);
      json.EndArray();
      return;
    case YAML::NodeType::Map:
      json.BeginObject();
      for (const auto& member : node) {
        json.Key(member.first.Scalar());
        PutNode(member.second, json);
      }
      json.EndObject();
      return;
    default:
      json.Null();
  }
}

struct NamedPolicy {
  std::string name;
  std::string json;
};

// One policy, or several documents divided by ---. JSON is YAML too.
Result<std::vector<NamedPolicy>> ReadPolicyFile(const std::string& path) {
  std::vector<NamedPolicy> policies;
  try {
    for (const YAML::Node& document : YAML::LoadAllFromFile(path)) {
      if (document.IsNull()) continue;
      if (!document.IsMap() || !document["policy"] || !document["policy"].IsScalar()) {
        return BadInput(path + ": a policy needs a name, policy: NAME", "see wherefore(1)");
      }
      JsonWriter json;
      PutNode(document, json);
      policies.push_back({document["policy"].Scalar(), json.Take()});
    }
  } catch (const YAML::BadFile&) {
    return EnvironmentError(path + ": cannot be read", "does it exist?");
  } catch (const YAML::Exception& error) {
    return BadInput(path + ": " + error.what(), "it must be YAML or JSON");
  }
  if (policies.empty()) return BadInput(path + ": holds no policy", "see wherefore(1)");
  return policies;
}

Status Run(const std::string& action, const std::string& argument, const CommonFlags& common) {
  if (action == "list") {
    if (!argument.empty()) return BadInput("policy list takes no argument");
    WF_ASSIGN(const auto store, StoreAccess::Open(common.store));
    Question question{"policies", "", {}};
    if (common.format == "text") question.params.Add("format", "text");
    WF_ASSIGN(const Answer answer, store->Ask(question));
    return Print(answer.body);
  }
  if (argument.empty()) {
    return BadInput(
        "policy " + action + ": " + (action == "apply" ? "which file?" : "which policy?"),
        "wherefore policy apply FILE | list | delete NAME");
  }
  if (action == "delete") {
    WF_ASSIGN(const auto store, StoreAccess::Open(common.store));
    WF_ASSIGN(const Answer answer, store->DeletePolicy(argument));
    return Print(common.format == "text" ? "deleted " + argument + "\n" : answer.body);
  }
  WF_ASSIGN(const auto policies, ReadPolicyFile(argument));
  WF_ASSIGN(const auto store, StoreAccess::Open(common.store));
  for (const NamedPolicy& policy : policies) {
    WF_ASSIGN(const Answer answer, store->PutPolicy(policy.name, policy.json));
    WF_TRY(Print(common.format == "text" ? "applied " + policy.name + "\n" : answer.body));
  }
  return {};
}

}  // namespace

Verb AddPolicy(CLI::App& root) {
  Verb verb = MakeVerb(root, "policy", "Which requests are traced: apply FILE, list, delete NAME");
  const auto action = std::make_shared<std::string>();
  const auto argument = std::make_shared<std::string>();
  verb.app->add_option("ACTION", *action, "apply, list or delete")
      ->required()
      ->check(CLI::IsMember({"apply", "list", "delete"}));
  verb.app->add_option("ARGUMENT", *argument, "a YAML file to apply, or the policy to delete");
  verb.run = [common = verb.common, action, argument] { return Run(*action, *argument, *common); };
  return verb;
}

}  // namespace wf
