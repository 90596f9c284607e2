#include "lang/policy/flow_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "lang/common/yaml_reader.h"
#include "recorder/format/flow_policy.h"

namespace wf::policy {
namespace {

namespace fs = std::filesystem;

class PolicyReader {
 public:
  explicit PolicyReader(const std::string& name) : name_(name) {}

  Result<FlowPolicy> Read(const lang::YamlNode& root) {
    if (!root.IsMap()) return Bad(root, "not a policy", "write labels: and rules:");
    WF_TRY(CheckKeys(root, {"labels", "rules"}, "a policy"));
    WF_ASSIGN(const lang::YamlNode* labels, List(root, "labels"));
    WF_ASSIGN(const lang::YamlNode* rules, List(root, "rules"));
    for (const lang::YamlNode& one : labels->items) WF_TRY(AddLabel(one));
    for (const lang::YamlNode& one : rules->items) WF_TRY(AddRule(one));
    return std::move(policy_);
  }

 private:
  Error Bad(const lang::YamlNode& at, const std::string& what, const std::string& hint) const {
    return BadInput(fmt::format("{}: line {}: {}", name_, at.line, what), hint);
  }

  Status CheckKeys(const lang::YamlNode& map, std::initializer_list<std::string_view> known,
                   std::string_view of) const {
    for (const lang::YamlMember& member : map.members) {
      if (std::find(known.begin(), known.end(), member.name) == known.end())
        return Bad(member.value, fmt::format("{}: no key of {}", member.name, of),
                   fmt::format("{}", fmt::join(known, ", ")));
    }
    return {};
  }

  // A list that is there and not empty.
  Result<const lang::YamlNode*> List(const lang::YamlNode& map, const std::string& key) const {
    const lang::YamlNode* node = map.Get(key);
    if (node == nullptr) return Bad(map, key + ": missing", "write " + key + ": and a list");
    if (!node->IsList() || node->items.empty())
      return Bad(*node, key + ": expected a list that is not empty", "as in [a, b]");
    return node;
  }

  Result<std::string> Text(const lang::YamlNode& map, const std::string& key) const {
    const lang::YamlNode* node = map.Get(key);
    if (node == nullptr) return Bad(map, key + ": missing", "write " + key + ": and a text");
    if (!node->IsScalar() || node->text.empty())
      return Bad(*node, key + ": expected a text", "write " + key + ": and a text");
    return node->text;
  }

  Result<std::vector<std::string>> Globs(const lang::YamlNode& map, const std::string& key) const {
    WF_ASSIGN(const lang::YamlNode* list, List(map, key));
    std::vector<std::string> out;
    for (const lang::YamlNode& item : list->items) {
      if (!item.IsScalar() || item.text.empty() ||
          item.text.find_first_of(std::string_view("\n\0", 2)) != std::string::npos)
        return Bad(item, key + ": expected names or globs, each one line",
                   "as in [\"/etc/keys/*\", stdin]");
      out.push_back(item.text);
    }
    return out;
  }

  Status AddLabel(const lang::YamlNode& node) {
    if (!node.IsMap())
      return Bad(node, "labels: expected name and inputs", "{name: …, inputs: […]}");
    WF_TRY(CheckKeys(node, {"name", "inputs"}, "a label"));
    FlowLabel label;
    WF_ASSIGN(label.name, Text(node, "name"));
    WF_ASSIGN(label.inputs, Globs(node, "inputs"));
    if (FindLabel(label.name) != policy_.labels.size())
      return Bad(node, fmt::format("label {}: there already", label.name),
                 "put all its inputs into one list");
    if (policy_.labels.size() == recorder::kMaxLabels)
      return Bad(node, fmt::format("more than {} labels", recorder::kMaxLabels),
                 "give inputs that are treated alike one label");
    policy_.labels.push_back(std::move(label));
    return {};
  }

  Status AddRule(const lang::YamlNode& node) {
    if (!node.IsMap())
      return Bad(node, "rules: expected label, outputs and action",
                 "{label: …, outputs: […], action: deny}");
    WF_TRY(CheckKeys(node, {"label", "outputs", "action"}, "a rule"));
    FlowRule rule;
    WF_ASSIGN(const std::string label, Text(node, "label"));
    rule.label = FindLabel(label);
    if (rule.label == policy_.labels.size())
      return Bad(*node.Get("label"), fmt::format("label {}: not among the labels", label),
                 "labels: names it and its inputs");
    WF_ASSIGN(rule.outputs, Globs(node, "outputs"));
    WF_ASSIGN(const std::string action, Text(node, "action"));
    if (action != "deny" && action != "report")
      return Bad(*node.Get("action"), fmt::format("action {}: no such action", action),
                 "deny or report");
    rule.action = action == "deny" ? FlowAction::kDeny : FlowAction::kReport;
    policy_.rules.push_back(std::move(rule));
    return {};
  }

  size_t FindLabel(const std::string& label) const {
    return static_cast<size_t>(
        std::find_if(policy_.labels.begin(), policy_.labels.end(),
                     [&](const FlowLabel& one) { return one.name == label; }) -
        policy_.labels.begin());
  }

  const std::string& name_;
  FlowPolicy policy_;
};

// Names that are no paths, and globs that may stand for any name.
bool IsPath(const std::string& glob) {
  for (const std::string_view other : {"stdin", "stdout", "stderr"})
    if (glob == other) return false;
  for (const std::string_view prefix : {"pipe:", "socket:", "arg:", "*", "?", "[", "std"})
    if (glob.compare(0, prefix.size(), prefix) == 0) return false;
  return true;
}

// Up to its first wildcard a glob is a path; the part of it that is folders can be looked up.
std::string WithRealFolders(const std::string& glob) {
  const size_t wild = glob.find_first_of("*?[\\");
  const size_t slash = wild == std::string::npos ? glob.size() : glob.rfind('/', wild);
  if (slash == std::string::npos || slash == 0) return glob;
  std::error_code error;
  const fs::path real = fs::weakly_canonical(glob.substr(0, slash), error);
  return error ? glob : real.string() + glob.substr(slash);
}

class PolicyCompiler {
 public:
  explicit PolicyCompiler(const std::string& folder) : folder_(folder) {}

  void Add(recorder::PolicyLine kind, size_t label, const std::string& glob) {
    const std::string absolute =
        IsPath(glob) && glob[0] != '/' ? (fs::path(folder_) / glob).string() : glob;
    Line(kind, label, absolute);
    const std::string real = IsPath(glob) ? WithRealFolders(absolute) : absolute;
    if (real != absolute) Line(kind, label, real);
  }
  std::string Take() { return std::move(text_); }

 private:
  void Line(recorder::PolicyLine kind, size_t label, const std::string& glob) {
    text_ += fmt::format("{} {} {}\n", static_cast<char>(kind), label, glob);
  }

  const std::string& folder_;
  std::string text_;
};

}  // namespace

Result<FlowPolicy> ParseFlowPolicy(std::string_view yaml, const std::string& name) {
  WF_ASSIGN(const lang::YamlNode root, lang::ReadYaml(yaml, name));
  return PolicyReader(name).Read(root);
}

Result<std::string> CompileFlowPolicy(const FlowPolicy& policy, const std::string& folder,
                                      const std::string& name) {
  PolicyCompiler compiler(folder);
  for (size_t i = 0; i < policy.labels.size(); ++i)
    for (const std::string& glob : policy.labels[i].inputs)
      compiler.Add(recorder::PolicyLine::kInput, i, glob);
  for (const FlowRule& rule : policy.rules)
    for (const std::string& glob : rule.outputs)
      compiler.Add(rule.action == FlowAction::kDeny ? recorder::PolicyLine::kDeny
                                                    : recorder::PolicyLine::kReport,
                   rule.label, glob);
  std::string text = compiler.Take();
  if (text.size() > recorder::kMaxPolicyText)
    return BadInput(fmt::format("{}: the policy is too long: {} bytes of names", name, text.size()),
                    "put what is treated alike into one folder and one glob");
  return text;
}

}  // namespace wf::policy
