// Settings: where a flag's value comes from when it is not on the command line. Flag over WHEREFORE_* over the file
// named by --config; every flag is a key of that file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/byte_size.h"
#include "base/result.h"
#include "import/decode/attribute_rules.h"

namespace CLI {
class App;
}

namespace wf::cli {

// Key → values, as text; a YAML list gives several.
using ConfigFile = std::map<std::string, std::vector<std::string>>;

// Reads a YAML file of `key: value` lines. Errors name file and line. "attribute-rules" may be a list of maps
// {action, key, where}, which become the text of the flag --attribute-rule.
Result<ConfigFile> ReadConfigFile(const std::string& path);

// Fills every option of `verb` that was not given, from the environment, then from `config`. A key of `config` that is
// a flag of no verb below `root` is an error: it would be ignored silently.
Status ApplySettings(CLI::App& root, CLI::App& verb, const ConfigFile& config,
                     const std::string& config_path);

// "drop user.*", "hash span enduser.id": ACTION [PLACE] KEY-GLOB.
Result<decode::AttributeRule> ParseAttributeRule(const std::string& text);

}  // namespace wf::cli
