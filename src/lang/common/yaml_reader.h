// YAML that people write (settings, datasets, policies) → a small tree of values with their lines. Everything
// else in YAML is rejected: aliases and anchors (a few lines can stand for gigabytes), several documents,
// keys that are not texts or are duplicates. Depth and size are bounded. Thread safety: pure.
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
  int line = 1;                 // from 1; for a text in block form (|, >) that of its first line
  std::string text;             // for a scalar
  bool plain = false;           // a scalar without quotes: may be meant as a number
  std::vector<YamlNode> items;  // for a list
  std::vector<YamlMember> members;  // for a map, in the order written

  bool IsNull() const { return kind == Kind::kNull; }
  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsList() const { return kind == Kind::kList; }
  bool IsMap() const { return kind == Kind::kMap; }
  const YamlNode* Get(std::string_view key) const;  // nullptr when there is none
};

// Not a std::pair: clang 14 requires complete types for a pair's parts, and they are incomplete here.
struct YamlMember {
  std::string name;
  YamlNode value;
};

struct YamlLimits {
  size_t max_bytes = 1 << 20;
  size_t max_depth = 32;
  size_t max_nodes = 100'000;
};

// `name` is printed in errors: "NAME: line 3: …". An empty text is a null.
Result<YamlNode> ReadYaml(std::string_view text, const std::string& name,
                          const YamlLimits& limits = {});

// The same for a file that may hold several documents, separated by ---; empty ones are left out.
Result<std::vector<YamlNode>> ReadYamlDocuments(std::string_view text, const std::string& name,
                                                const YamlLimits& limits = {});

}  // namespace wf::lang
