#include "client/runtime/json_text.h"

#include <cstdlib>

namespace wherefore::client {
namespace {

constexpr int kMaxDepth = 32;
constexpr size_t kMaxBytes = 1 << 20;

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool Value(JsonNode& node, int depth) {
    Space();
    if (rest_.empty() || depth > kMaxDepth) return false;
    switch (rest_.front()) {
      case '{':
        return Members(node, JsonNode::Type::kObject, '}', depth);
      case '[':
        return Members(node, JsonNode::Type::kArray, ']', depth);
      case '"':
        node.type = JsonNode::Type::kText;
        return Text(node.text);
      case 't':
        node.type = JsonNode::Type::kBool;
        node.boolean = true;
        return Word("true");
      case 'f':
        node.type = JsonNode::Type::kBool;
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number(node);
    }
  }
  bool AtEnd() {
    Space();
    return rest_.empty();
  }

 private:
  void Space() {
    const size_t n = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(n == std::string_view::npos ? rest_.size() : n);
  }
  bool Word(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool Number(JsonNode& node) {
    const size_t size = std::min(rest_.find_first_not_of("+-.0123456789eE"), rest_.size());
    if (size == 0 || size > 64) return false;
    node.type = JsonNode::Type::kNumber;
    node.text = std::string(rest_.substr(0, size));
    char* end = nullptr;
    node.number = std::strtod(node.text.c_str(), &end);
    rest_.remove_prefix(size);
    return *end == '\0';
  }
  bool Hex4(unsigned& value) {
    if (rest_.size() < 4) return false;
    value = 0;
    for (char c : rest_.substr(0, 4)) {
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      value = value << 4 | static_cast<unsigned>(digit);
    }
    rest_.remove_prefix(4);
    return true;
  }
  static void PutUtf8(unsigned code, std::string& out) {
    if (code < 0x80) {
      out.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
      out.push_back(static_cast<char>(0xC0 | code >> 6));
      out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    } else if (code < 0x10000) {
      out.push_back(static_cast<char>(0xE0 | code >> 12));
      out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    } else {
      out.push_back(static_cast<char>(0xF0 | code >> 18));
      out.push_back(static_cast<char>(0x80 | (code >> 12 & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    }
  }
  bool Escape(std::string& out) {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    switch (c) {
      case 'n':
        out.push_back('\n');
        return true;
      case 't':
        out.push_back('\t');
        return true;
      case 'r':
        out.push_back('\r');
        return true;
      case 'b':
        out.push_back('\b');
        return true;
      case 'f':
        out.push_back('\f');
        return true;
      case '"':
      case '\\':
      case '/':
        out.push_back(c);
        return true;
      case 'u': {
        unsigned code, low;
        if (!Hex4(code)) return false;
        if (code >= 0xD800 && code < 0xDC00) {
          if (!Word("\\u") || !Hex4(low) || low < 0xDC00 || low > 0xDFFF) return false;
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        PutUtf8(code, out);
        return true;
      }
      default:
        return false;
    }
  }
  bool Text(std::string& out) {
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\') {
        out.push_back(c);
      } else if (rest_.empty() || !Escape(out)) {
        return false;
      }
    }
    return false;
  }
  bool Members(JsonNode& node, JsonNode::Type type, char close, int depth) {
    node.type = type;
    rest_.remove_prefix(1);
    Space();
    if (!rest_.empty() && rest_.front() == close) return rest_.remove_prefix(1), true;
    while (true) {
      auto& [key, child] = node.children.emplace_back();
      if (type == JsonNode::Type::kObject) {
        Space();
        if (rest_.empty() || rest_.front() != '"' || !Text(key)) return false;
        Space();
        if (!Word(":")) return false;
      }
      if (!Value(child, depth + 1)) return false;
      Space();
      if (rest_.empty()) return false;
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == close) return true;
      if (c != ',') return false;
    }
  }

  std::string_view rest_;
};

}  // namespace

JsonNode::JsonNode() = default;
JsonNode::JsonNode(const JsonNode&) = default;
JsonNode::JsonNode(JsonNode&&) noexcept = default;
JsonNode& JsonNode::operator=(const JsonNode&) = default;
JsonNode& JsonNode::operator=(JsonNode&&) noexcept = default;
JsonNode::~JsonNode() = default;

const JsonNode& JsonNode::Get(std::string_view key) const {
  static const JsonNode none;
  if (type != Type::kObject) return none;
  for (const auto& [name, child] : children) {
    if (name == key) return child;
  }
  return none;
}

std::optional<JsonNode> ParseJson(std::string_view text) {
  if (text.size() > kMaxBytes) return std::nullopt;
  Reader reader(text);
  JsonNode node;
  if (!reader.Value(node, 0) || !reader.AtEnd()) return std::nullopt;
  return node;
}

}  // namespace wherefore::client
