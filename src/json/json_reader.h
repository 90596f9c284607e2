// JSON text in: a parser and a view of what it parsed. A thin face over simdjson, so that its header stays in this
// folder. 64-bit integers are exact.
//
//   JsonParser parser;
//   auto root = parser.Parse(text);            // Result<JsonValue>
//   if (!root.ok()) return root.error();       // names byte, line and reason
//   for (JsonValue span : root->Get("spans").Elements()) …
//   for (const auto& [key, value] : root->Members()) …
//
// A JsonValue borrows from its parser and is valid until the next Parse or the parser's end. Asking a value for what
// it is not gives nothing: an empty text, no number, no members; a member that is not there is a value of type
// kMissing. So a chain of Get needs one check at its end.
//
// Thread safety: a parser belongs to one thread; values may be read by many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf {

enum class JsonType : uint8_t {
  kMissing,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kArray,
  kObject
};

class JsonElements;
class JsonMembers;

class JsonValue {
 public:
  JsonValue() = default;

  JsonType type() const;
  bool missing() const { return document_ == nullptr; }
  bool IsNull() const { return type() == JsonType::kNull; }
  bool IsString() const { return type() == JsonType::kString; }
  bool IsArray() const { return type() == JsonType::kArray; }
  bool IsObject() const { return type() == JsonType::kObject; }
  bool IsBool() const { return type() == JsonType::kBool; }
  bool IsNumber() const {
    const JsonType t = type();
    return t == JsonType::kInt || t == JsonType::kUint || t == JsonType::kDouble;
  }

  std::string_view String() const;     // "" when it is no string
  bool Bool() const;                   // false when it is no bool
  std::optional<int64_t> Int() const;  // a number that is exactly an int64 (also 3.0 and 1e3)
  std::optional<int64_t> IntOrText()
      const;  // also "123", as protobuf's JSON writes 64-bit integers
  std::optional<uint64_t> UintOrText() const;
  std::optional<double> Number() const;
  std::optional<double> NumberOrText() const;  // also "1.5", "NaN", "Infinity", "-Infinity"

  JsonValue Get(std::string_view key) const;  // the first member of that name
  // The first of two spellings that is there.
  JsonValue Get(std::string_view key, std::string_view other) const;
  size_t size() const;  // of an array or object, else 0; counts above 2^24 are held there

  JsonElements Elements() const;
  JsonMembers Members() const;

 private:
  friend class JsonParser;
  friend class JsonElements;
  friend class JsonMembers;
  JsonValue(const void* document, size_t index) : document_(document), index_(index) {}
  size_t After() const;       // index behind this value
  size_t ContentEnd() const;  // index of the closing bracket

  const void* document_ = nullptr;  // simdjson::dom::document
  size_t index_ = 0;                // on its tape
};

class JsonElements {
 public:
  class Iterator {
   public:
    Iterator(const void* document, size_t index) : value_(document, index) {}
    JsonValue operator*() const { return value_; }
    Iterator& operator++() {
      value_.index_ = value_.After();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return value_.index_ != other.value_.index_; }

   private:
    JsonValue value_;
  };
  explicit JsonElements(const JsonValue& array) : array_(array) {}
  Iterator begin() const { return {array_.document_, array_.IsArray() ? array_.index_ + 1 : 0}; }
  Iterator end() const { return {array_.document_, array_.IsArray() ? array_.ContentEnd() : 0}; }

 private:
  JsonValue array_;
};

struct JsonMember {
  std::string_view key;
  JsonValue value;
};

class JsonMembers {
 public:
  class Iterator {
   public:
    Iterator(const void* document, size_t index) : key_(document, index) {}
    JsonMember operator*() const {
      return {key_.String(), JsonValue(key_.document_, key_.index_ + 1)};
    }
    Iterator& operator++() {
      key_.index_ = JsonValue(key_.document_, key_.index_ + 1).After();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return key_.index_ != other.key_.index_; }

   private:
    JsonValue key_;
  };
  explicit JsonMembers(const JsonValue& object) : object_(object) {}
  Iterator begin() const {
    return {object_.document_, object_.IsObject() ? object_.index_ + 1 : 0};
  }
  Iterator end() const {
    return {object_.document_, object_.IsObject() ? object_.ContentEnd() : 0};
  }

 private:
  JsonValue object_;
};

inline JsonElements JsonValue::Elements() const { return JsonElements(*this); }
inline JsonMembers JsonValue::Members() const { return JsonMembers(*this); }

struct JsonLimits {
  size_t max_depth = 128;
  size_t max_bytes = size_t{1} << 30;
  // Bytes that are not UTF-8 and escapes of half a surrogate pair become U+FFFD instead of an error;
  // repaired_utf8() then returns true.
  bool repair_utf8 = false;
};

// A parser holds about ten times the text it last parsed. Texts up to this size are worth keeping a parser for.
constexpr size_t kKeptParserBytes = size_t{4} << 20;

class JsonParser {
 public:
  JsonParser();
  ~JsonParser();
  JsonParser(JsonParser&&) noexcept;
  JsonParser& operator=(JsonParser&&) noexcept;

  // One JSON text and nothing behind it but white space. BadInput names byte offset (from 0), line and reason.
  Result<JsonValue> Parse(std::string_view text, const JsonLimits& limits = {});
  bool repaired_utf8() const { return repaired_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool repaired_ = false;
};

// The first place where `text` is not JSON, for messages: simdjson says only that it is not.
struct JsonFault {
  size_t offset = 0;
  std::string reason;
};
std::optional<JsonFault> FindJsonFault(std::string_view text, const JsonLimits& limits = {});

}  // namespace wf
