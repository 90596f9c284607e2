#include "lang/common/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace wf::lang {
namespace {

// Builds the tree from the parser's events, so that nothing is expanded before we have looked at it.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const YamlLimits& limits) : limits_(limits) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines_.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }

  struct Stop {  // thrown and caught within this file
    int line;
    std::string why, hint;
  };

  std::vector<YamlNode> documents;

  // The parser can answer one document after the other without reading on: at a token no document begins with.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (document_at_ == mark.pos)
      throw Stop{mark.line + 1, "this belongs to no value", "leave it out"};
    document_at_ = mark.pos;
    documents.emplace_back();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Value(mark, anchor, YamlNode::Kind::kNull);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Stop{mark.line + 1, "an alias (*name)", "write the value out"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // A plain ~ or null is no text; a quoted one is.
    const bool plain = tag == "?";
    if (!open_.empty() && open_.back()->IsMap() && !key_.back()) {
      if (anchor != 0) throw Stop{mark.line + 1, "an anchor (&name)", "leave it out"};
      key_.back() = value;
      const auto& members = open_.back()->members;
      if (std::any_of(members.begin(), members.end(),
                      [&](const auto& m) { return m.name == value; }))
        throw Stop{mark.line + 1, "\"" + value + "\" is given twice", "remove one of them"};
      return;
    }
    const bool null = plain && (value == "~" || value == "null");
    YamlNode* node = Value(mark, anchor, null ? YamlNode::Kind::kNull : YamlNode::Kind::kScalar);
    if (null) return;
    node->text = value;
    node->plain = plain;
    if (IsBlockForm(mark)) ++node->line;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(Value(mark, anchor, YamlNode::Kind::kList), mark);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(Value(mark, anchor, YamlNode::Kind::kMap), mark);
  }
  void OnMapEnd() override { Close(); }

 private:
  YamlNode* Value(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    const int line = mark.line + 1;
    if (anchor != 0) throw Stop{line, "an anchor (&name)", "leave it out"};
    if (++nodes_ > limits_.max_nodes) throw Stop{line, "too many values", "split the file"};
    YamlNode* node = &documents.back();
    if (!open_.empty() && open_.back()->IsList()) {
      node = &open_.back()->items.emplace_back();
    } else if (!open_.empty()) {
      if (!key_.back()) throw Stop{line, "a key that is not a text", "write key: value"};
      node = &open_.back()->members.emplace_back(YamlMember{std::move(*key_.back()), {}}).value;
      key_.back().reset();
    }
    node->kind = kind;
    node->line = line;
    return node;
  }
  // While a node is open, nothing is added beside it, so pointers to open nodes stay good.
  void Open(YamlNode* node, const YAML::Mark& mark) {
    if (open_.size() == limits_.max_depth)
      throw Stop{mark.line + 1, "nested too deep", "lists and maps may be nested 32 deep"};
    open_.push_back(node);
    key_.emplace_back();
  }
  void Close() {
    open_.pop_back();
    key_.pop_back();
  }
  // The parser marks a text in block form at its | or >.
  bool IsBlockForm(const YAML::Mark& mark) const {
    if (mark.line < 0 || static_cast<size_t>(mark.line) >= lines_.size()) return false;
    const std::string_view line = lines_[static_cast<size_t>(mark.line)];
    const auto at = static_cast<size_t>(std::max(mark.column, 0));
    return at < line.size() && (line[at] == '|' || line[at] == '>');
  }

  const YamlLimits limits_;
  std::vector<std::string_view> lines_;
  std::vector<YamlNode*> open_;
  std::vector<std::optional<std::string>> key_;  // of each open map: the key whose value comes next
  size_t nodes_ = 0;
  std::optional<int> document_at_;  // where the latest document began
};

}  // namespace

const YamlNode* YamlNode::Get(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

Result<YamlNode> ReadYaml(std::string_view text, const std::string& name,
                          const YamlLimits& limits) {
  WF_ASSIGN(std::vector<YamlNode> documents, ReadYamlDocuments(text, name, limits));
  if (documents.size() > 1)
    return BadInput(name + ": line " + std::to_string(documents[1].line) + ": a second document",
                    "leave one document in the file");
  return documents.empty() ? YamlNode() : std::move(documents[0]);
}

Result<std::vector<YamlNode>> ReadYamlDocuments(std::string_view text, const std::string& name,
                                                const YamlLimits& limits) {
  const auto bad = [&](int line, const std::string& why, const std::string& hint) {
    return BadInput(name + ": line " + std::to_string(line) + ": " + why, hint);
  };
  if (text.size() > limits.max_bytes)
    return BadInput(name + ": longer than " + std::to_string(limits.max_bytes) + " bytes",
                    "settings and definitions are small texts");
  TreeBuilder builder(text, limits);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
      if (builder.documents.back().IsNull()) builder.documents.pop_back();
    }
  } catch (const TreeBuilder::Stop& stop) {
    return bad(stop.line, stop.why, stop.hint);
  } catch (const YAML::Exception& error) {
    return bad(error.mark.line + 1, error.msg, "it must be YAML: lines of the form key: value");
  }
  return std::move(builder.documents);
}

}  // namespace wf::lang
