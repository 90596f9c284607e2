// Rules that drop or hash attributes before anything is stored, so that forbidden values never reach a disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wf::decode {

// Where an attribute is. A rule names one place or any.
enum class AttributePlace : uint8_t { kSpan = 0, kProcess, kScope, kPoint, kLink };
constexpr size_t kAttributePlaces = 5;

enum class AttributeAction : uint8_t { kKeep = 0, kDrop, kHash };

struct AttributeRule {
  bool any_place = true;
  AttributePlace place = AttributePlace::kSpan;  // when not any_place
  std::string key_glob;  // '*' any text, '?' one character; "user.*", "http.request.header.*"
  AttributeAction action = AttributeAction::kDrop;
};

// A secret of this installation. Without one, hashed values can be guessed by hashing candidates.
struct HashKey {
  uint64_t k0 = 0;
  uint64_t k1 = 0;
};

struct DecodeOptions {
  std::vector<AttributeRule> rules;  // the first that matches decides
  HashKey hash_key;
  int max_value_depth = 32;  // arrays and maps nested deeper become null, counted as deep_value
};

bool GlobMatches(std::string_view glob, std::string_view text);
AttributeAction ActionFor(const std::vector<AttributeRule>& rules, AttributePlace place,
                          std::string_view key);

// SipHash-2-4 of the text as 16 hex digits: keyed, so equal values stay comparable but cannot be looked up.
std::string KeyedHashHex(std::string_view text, HashKey key);

}  // namespace wf::decode
