// A small JSON reader for what the server sends: policies and counts. Not for hot paths. Bytes come from the
// network: depth and size are limited, and malformed input is rejected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wherefore::client {

struct JsonNode {
  // Not inline: in C++20 a vector of what is not complete yet must not be made here.
  JsonNode();
  JsonNode(const JsonNode&);
  JsonNode(JsonNode&&) noexcept;
  JsonNode& operator=(const JsonNode&);
  JsonNode& operator=(JsonNode&&) noexcept;
  ~JsonNode();

  enum class Type { kNull, kBool, kNumber, kText, kArray, kObject } type = Type::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;                                        // of a text; of a number, as written
  std::vector<std::pair<std::string, JsonNode>> children;  // of an array (keys empty) or an object

  // A member of an object; null if it is not there.
  const JsonNode& Get(std::string_view key) const;
};

// One JSON value and nothing behind it but white space.
std::optional<JsonNode> ParseJson(std::string_view text);

}  // namespace wherefore::client
