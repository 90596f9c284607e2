#include "pipeline/dataset_definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "lang/common/suggestion.h"
#include "lang/common/yaml_reader.h"

namespace wf::pipeline {
namespace {

class DefinitionReader {
 public:
  DefinitionReader(const lang::YamlNode& root, const std::string& name)
      : root_(root), name_(name) {}

  Error Bad(const lang::YamlNode& at, const std::string& why, const std::string& hint) const {
    return BadInput(fmt::format("{}: line {}: {}", name_, at.line, why), hint);
  }

  Status CheckKeys(const lang::YamlNode& map, const std::vector<std::string>& known,
                   const std::string& where) const {
    for (const auto& [key, value] : map.members) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      std::string hint = lang::DidYouMean(key, known);
      if (hint.empty())
        for (const std::string& one : known) hint += (hint.empty() ? "known: " : ", ") + one;
      return Bad(value, fmt::format("\"{}\" is not a key of {}", key, where), hint);
    }
    return {};
  }

  // The text of a scalar; `line`: where it begins.
  Status Text(const char* key, std::string& out, int* line = nullptr) const {
    const lang::YamlNode* node = root_.Get(key);
    if (node == nullptr || node->IsNull()) return {};
    if (!node->IsScalar())
      return Bad(*node, fmt::format("{}: expected a text", key), "write it as one value");
    out = node->text;
    if (line != nullptr) *line = node->line;
    return {};
  }

  Status Truth(const lang::YamlNode& node, const char* key, bool& out) const {
    if (node.text == "true" || node.text == "yes" || node.text == "on") {
      out = true;
    } else if (node.text == "false" || node.text == "no" || node.text == "off") {
      out = false;
    } else {
      return Bad(node, fmt::format("{}: expected true or false", key), "write true or false");
    }
    return {};
  }

  // {table: true, parquet: true}, or a list of those wanted.
  Status Output(DatasetDefinition& out) const {
    const lang::YamlNode* node = root_.Get("output");
    if (node == nullptr || node->IsNull()) return {};
    if (node->IsList() || node->IsScalar()) {
      out.table = out.parquet = false;
      for (const lang::YamlNode& item :
           node->IsScalar() ? std::vector<lang::YamlNode>{*node} : node->items) {
        if (item.text == "table") {
          out.table = true;
        } else if (item.text == "parquet") {
          out.parquet = true;
        } else {
          return Bad(item, fmt::format("\"{}\" is not an output", item.text), "table or parquet");
        }
      }
    } else {
      WF_TRY(CheckKeys(*node, {"table", "parquet"}, "output"));
      if (const lang::YamlNode* table = node->Get("table"))
        WF_TRY(Truth(*table, "table", out.table));
      if (const lang::YamlNode* parquet = node->Get("parquet"))
        WF_TRY(Truth(*parquet, "parquet", out.parquet));
    }
    if (!out.table && !out.parquet) return Bad(*node, "no output chosen", "write table or parquet");
    return {};
  }

  Status Duration(const lang::YamlNode& node, const char* key, std::optional<Nanos>& out) const {
    if (node.text == "forever" || node.text == "never") {
      out.reset();
      return {};
    }
    const auto duration = ParseDuration(node.text);
    if (!duration.ok() || *duration <= 0)
      return Bad(node, fmt::format("{}: \"{}\" is not a duration", key, node.text),
                 "as in 90d or 12h");
    out = *duration;
    return {};
  }

  Status Retention(store::RowRetention& out) const {
    out.max_age_ns = kDefaultRowAge;
    const lang::YamlNode* node = root_.Get("retention");
    if (node == nullptr || node->IsNull()) return {};
    if (node->IsScalar()) return Duration(*node, "retention", out.max_age_ns);
    if (!node->IsMap()) return Bad(*node, "retention: expected a duration", "as in 90d");
    WF_TRY(CheckKeys(*node, {"age", "subsample", "keep"}, "retention"));
    if (const lang::YamlNode* age = node->Get("age")) WF_TRY(Duration(*age, "age", out.max_age_ns));
    if (const lang::YamlNode* after = node->Get("subsample"))
      WF_TRY(Duration(*after, "subsample", out.subsample_after_ns));
    if (const lang::YamlNode* keep = node->Get("keep")) {
      const std::string_view text = keep->text;
      int64_t n = 0;
      const auto [end, error] = std::from_chars(text.data() + std::min<size_t>(2, text.size()),
                                                text.data() + text.size(), n);
      if (text.substr(0, 2) != "1/" || error != std::errc() || end != text.data() + text.size() ||
          n < 2 || n > 1'000'000)
        return Bad(*keep, fmt::format("keep: \"{}\" is not a share", text),
                   "write 1/N, as in 1/10");
      out.keep_one_in = n;
    }
    return {};
  }

  Status Include(std::vector<std::string>& out) const {
    const lang::YamlNode* node = root_.Get("include");
    if (node == nullptr || node->IsNull()) return {};
    if (node->IsScalar()) {
      out.push_back(node->text);
      return {};
    }
    for (const lang::YamlNode& item : node->items) {
      if (!item.IsScalar())
        return Bad(item, "include: expected names of datasets", "as in [traces]");
      out.push_back(item.text);
    }
    return {};
  }

 private:
  const lang::YamlNode& root_;
  const std::string& name_;
};

}  // namespace

Status CheckDatasetName(const std::string& name) {
  const auto good = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  };
  const bool begins =
      !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_');
  if (begins && name.size() <= 100 && std::all_of(name.begin(), name.end(), good)) return {};
  return BadInput(fmt::format("dataset \"{}\": not a valid name", name.substr(0, 100)),
                  "letters, digits, _ - and dots, at most 100, a letter first");
}

Result<DatasetDefinition> ParseDataset(std::string_view yaml, const std::string& name) {
  WF_ASSIGN(const lang::YamlNode root, lang::ReadYaml(yaml, name));
  if (!root.IsMap())
    return BadInput(name + ": not a dataset", "lines of the form key: value; dataset: NAME first");
  const DefinitionReader reader(root, name);
  WF_TRY(reader.CheckKeys(
      root, {"dataset", "owner", "filter", "row", "columns", "include", "output", "retention"},
      "a dataset"));
  DatasetDefinition out;
  out.source = yaml;
  WF_TRY(reader.Text("dataset", out.name));
  if (out.name.empty()) return BadInput(name + ": no name", "write dataset: NAME");
  WF_TRY(CheckDatasetName(out.name));
  WF_TRY(reader.Text("owner", out.owner));
  WF_TRY(CheckDatasetName(out.owner));
  WF_TRY(reader.Text("filter", out.filter, &out.filter_line));
  WF_TRY(reader.Text("row", out.row, &out.row_line));
  WF_TRY(reader.Text("columns", out.columns, &out.columns_line));
  WF_TRY(reader.Include(out.include));
  WF_TRY(reader.Output(out));
  WF_TRY(reader.Retention(out.retention));
  return out;
}

}  // namespace wf::pipeline
