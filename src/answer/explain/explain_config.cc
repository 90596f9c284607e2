#include "answer/explain/explain_config.h"

#include <fmt/format.h>

#include <charconv>

#include "lang/common/yaml_reader.h"

namespace wf::answer {
namespace {

// Every rule is held against every span of a window.
constexpr size_t kMostRules = 100;

class ConfigReader {
 public:
  explicit ConfigReader(const std::string& name) : name_(name) {}

  Result<provenance::TraceExecutionOptions> Read(const lang::YamlNode& root) {
    provenance::TraceExecutionOptions options;
    if (root.IsNull()) return options;
    if (!root.IsMap()) return Bad(root, "is not a map of resources and workers");
    for (const lang::YamlMember& member : root.members) {
      if (member.name != "resources" && member.name != "workers")
        return Bad(member.value, "\"" + member.name + "\" is neither resources nor workers");
      if (!member.value.IsList() && !member.value.IsNull())
        return Bad(member.value, member.name + " is not a list");
      if (member.value.items.size() > kMostRules)
        return Bad(member.value, fmt::format("more than {} {}", kMostRules, member.name));
      for (const lang::YamlNode& item : member.value.items) {
        if (!item.IsMap()) return Bad(item, "an entry of " + member.name + " is not a map");
        if (member.name == "resources") {
          WF_ASSIGN(provenance::ResourceRule rule, Resource(item));
          options.resources.push_back(std::move(rule));
        } else {
          WF_ASSIGN(provenance::WorkerRule rule, Workers(item));
          options.workers.push_back(std::move(rule));
        }
      }
    }
    return options;
  }

 private:
  Error Bad(const lang::YamlNode& node, const std::string& why) const {
    return BadInput(name_ + ": line " + std::to_string(node.line) + ": " + why,
                    "docs/use/explain.md shows a file of resources");
  }

  Result<provenance::ResourceRule> Resource(const lang::YamlNode& item) const {
    provenance::ResourceRule rule;
    for (const lang::YamlMember& member : item.members) {
      if (!member.value.IsScalar()) return Bad(member.value, member.name + " is not a text");
      if (member.name == "name") {
        rule.name = member.value.text;
      } else if (member.name == "service") {
        rule.service = member.value.text;
      } else if (member.name == "operation") {
        rule.operation = member.value.text;
      } else if (member.name == "attribute") {
        rule.attribute = member.value.text;
      } else if (member.name == "servers") {
        WF_ASSIGN(rule.servers, Count(member));
      } else {
        return Bad(member.value, "a resource has no \"" + member.name + "\"");
      }
    }
    if (rule.name.empty()) return Bad(item, "a resource has no name");
    return rule;
  }

  Result<provenance::WorkerRule> Workers(const lang::YamlNode& item) const {
    provenance::WorkerRule rule;
    for (const lang::YamlMember& member : item.members) {
      if (!member.value.IsScalar()) return Bad(member.value, member.name + " is not a text");
      if (member.name == "service") {
        rule.service = member.value.text;
      } else if (member.name == "workers") {
        WF_ASSIGN(rule.workers, Count(member));
      } else if (member.name == "kind") {
        for (const provenance::ServerKind kind :
             {provenance::ServerKind::kSynchronous, provenance::ServerKind::kAsynchronous}) {
          if (member.value.text == provenance::ServerKindName(kind)) rule.kind = kind;
        }
        if (!rule.kind)
          return Bad(member.value,
                     "\"" + member.value.text + "\" is neither synchronous nor asynchronous");
      } else {
        return Bad(member.value, "workers have no \"" + member.name + "\"");
      }
    }
    if (rule.service.empty()) return Bad(item, "workers have no service");
    return rule;
  }

  Result<std::optional<int64_t>> Count(const lang::YamlMember& member) const {
    const std::string& text = member.value.text;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1'000'000)
      return Bad(member.value,
                 member.name + ": \"" + text + "\" is not a whole number from 1 to 1000000");
    return std::optional<int64_t>(value);
  }

  const std::string& name_;
};

}  // namespace

Result<provenance::TraceExecutionOptions> ReadExplainConfig(std::string_view text,
                                                            const std::string& name) {
  WF_ASSIGN(const lang::YamlNode root, lang::ReadYaml(text, name));
  return ConfigReader(name).Read(root);
}

}  // namespace wf::answer
