// YAML that people write (settings, datasets, policies) → a small tree of values with the lines they stand on. What YAML
// can do beyond that is refused: aliases and anchors (a few lines of them stand for gigabytes), several documents, keys
// that are not texts or come twice. Depth and size are bounded. Thread safety: pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::lang {

struct YamlMember;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap } kind = Kind::kNull;
  int line = 1;                     // from 1; of a text in block form (|, >) that of its first line
  std::string text;                 // of a scalar
  bool plain = false;               // a scalar without quotes: may be meant as a number
  std::vector<YamlNode> items;      // of a list
  std::vector<YamlMember> members;  // of a map, as written

  bool IsNull() const { return kind == Kind::kNull; }
  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsList() const { return kind == Kind::kList; }
  bool IsMap() const { return kind == Kind::kMap; }
  const YamlNode* Get(std::string_view key) const;  // nullptr when there is none
};

// Not a std::pair: clang 14 wants to know a pair's parts before they are known here.
struct YamlMember {
  std::string name;
  YamlNode value;
};

struct YamlLimits {
  size_t max_bytes = 1 << 20;
  size_t max_depth = 32;
  size_t max_nodes = 100'000;
};

// `name` stands in errors: "NAME: line 3: …". An empty text is a null.
Result<YamlNode> ReadYaml(std::string_view text, const std::string& name,
                          const YamlLimits& limits = {});

// The same of a file that may hold several documents, divided by ---; empty ones are left out.
Result<std::vector<YamlNode>> ReadYamlDocuments(std::string_view text, const std::string& name,
                                                const YamlLimits& limits = {});

}  // namespace wf::lang
