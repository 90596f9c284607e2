#include "cli/settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "lang/common/yaml_reader.h"

namespace wf::cli {
namespace {

std::string WithDashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string EnvironmentName(const std::string& flag) {
  std::string name = "WHEREFORE_";
  for (char c : flag)
    name.push_back(c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  return name;
}

// A flag without value is told "true" or "false" by the environment and the file.
Status SetOption(CLI::Option& option, const std::vector<std::string>& values,
                 const std::string& where) {
  try {
    for (const std::string& value : values) option.add_result(value);
    option.run_callback();
  } catch (const CLI::Error& error) {
    return BadInput(where + ": " + error.what(), "wherefore VERB --help describes the flags");
  }
  return {};
}

Error BadConfig(const std::string& path, int line, const std::string& why,
                const std::string& hint) {
  return BadInput(path + ": line " + std::to_string(line) + ": " + why, hint);
}

Result<std::vector<std::string>> Values(const std::string& path, const std::string& key,
                                        const lang::YamlNode& node) {
  std::vector<std::string> values;
  if (node.IsScalar()) {
    values.push_back(node.text);
  } else if (node.IsList()) {
    for (const lang::YamlNode& element : node.items) {
      if (element.IsScalar()) {
        values.push_back(element.text);
      } else if (element.IsMap() && key == "attribute-rule") {
        std::string rule;
        for (const char* part : {"action", "where", "key"}) {
          if (const lang::YamlNode* field = element.Get(part))
            rule += (rule.empty() ? "" : " ") + field->text;
        }
        values.push_back(rule);
      } else {
        return BadConfig(path, element.line, key + ": expected a text",
                         "write one value a line, as - VALUE");
      }
    }
  } else if (!node.IsNull()) {
    return BadConfig(path, node.line, key + ": expected a value or a list",
                     "wherefore serve --help lists the flags");
  }
  return values;
}

}  // namespace

Result<ConfigFile> ReadConfigFile(const std::string& path) {
  ConfigFile config;
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  if (!in) return EnvironmentError(path + ": cannot be read", "does the file exist?");
  WF_ASSIGN(const lang::YamlNode root, lang::ReadYaml(content.view(), path));
  if (root.IsNull()) return config;
  if (!root.IsMap())
    return BadInput(path + ": not a map of keys", "write lines of the form key: value");
  for (const auto& [name, node] : root.members) {
    std::string key = WithDashes(name);
    if (key == "attribute-rules") key = "attribute-rule";
    WF_ASSIGN(config[key], Values(path, key, node));
  }
  return config;
}

Status ApplySettings(CLI::App& root, CLI::App& verb, const ConfigFile& config,
                     const std::string& config_path) {
  for (const auto& [key, values] : config) {
    bool known = false;
    for (const CLI::App* app : root.get_subcommands([](CLI::App*) { return true; })) {
      known = known || app->get_option_no_throw("--" + key) != nullptr;
    }
    if (!known)
      return BadInput(config_path + ": \"" + key + "\" is not a flag",
                      "wherefore serve --help lists the flags");
  }
  for (CLI::Option* option : verb.get_options()) {
    if (option->count() != 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (name == "help" || name == "config") continue;
    if (const char* value = std::getenv(EnvironmentName(name).c_str());
        value != nullptr && *value != '\0') {
      WF_TRY(SetOption(*option, {value}, EnvironmentName(name)));
    } else if (const auto found = config.find(name);
               found != config.end() && !found->second.empty()) {
      WF_TRY(SetOption(*option, found->second, config_path + ": " + name));
    }
  }
  return {};
}

Result<decode::AttributeRule> ParseAttributeRule(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  const auto bad = [&](const std::string& why) {
    return BadInput("--attribute-rule \"" + text + "\": " + why,
                    "write ACTION [PLACE] KEY: drop or hash; span, process, scope, point, link or "
                    "any; user.* as key");
  };
  if (words.size() < 2 || words.size() > 3) return bad("expected two or three words");
  decode::AttributeRule rule;
  if (words[0] == "drop") {
    rule.action = decode::AttributeAction::kDrop;
  } else if (words[0] == "hash") {
    rule.action = decode::AttributeAction::kHash;
  } else {
    return bad("\"" + words[0] + "\" is not an action");
  }
  rule.key_glob = words.back();
  if (words.size() == 3 && words[1] != "any") {
    constexpr std::string_view kPlaces[] = {"span", "process", "scope", "point", "link"};
    const auto found = std::find(std::begin(kPlaces), std::end(kPlaces), words[1]);
    if (found == std::end(kPlaces)) return bad("\"" + words[1] + "\" is not a place");
    rule.any_place = false;
    rule.place = static_cast<decode::AttributePlace>(found - std::begin(kPlaces));
  }
  return rule;
}

}  // namespace wf::cli
