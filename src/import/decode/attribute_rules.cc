#include "import/decode/attribute_rules.h"

#include <cstring>

#include "base/ids.h"

namespace wf::decode {

bool GlobMatches(std::string_view glob, std::string_view text) {
  // Backtracks to the last star only: linear in practice, at worst |glob|·|text|, never exponential.
  size_t g = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_text = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g, ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

AttributeAction ActionFor(const std::vector<AttributeRule>& rules, AttributePlace place,
                          std::string_view key) {
  for (const AttributeRule& rule : rules) {
    if ((rule.any_place || rule.place == place) && GlobMatches(rule.key_glob, key))
      return rule.action;
  }
  return AttributeAction::kKeep;
}

namespace {

uint64_t RotateLeft(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

struct SipState {
  uint64_t v0, v1, v2, v3;
  void Round() {
    v0 += v1, v1 = RotateLeft(v1, 13), v1 ^= v0, v0 = RotateLeft(v0, 32);
    v2 += v3, v3 = RotateLeft(v3, 16), v3 ^= v2;
    v0 += v3, v3 = RotateLeft(v3, 21), v3 ^= v0;
    v2 += v1, v1 = RotateLeft(v1, 17), v1 ^= v2, v2 = RotateLeft(v2, 32);
  }
};

}  // namespace

std::string KeyedHashHex(std::string_view text, HashKey key) {
  SipState s{key.k0 ^ 0x736f6d6570736575ull, key.k1 ^ 0x646f72616e646f6dull,
             key.k0 ^ 0x6c7967656e657261ull, key.k1 ^ 0x7465646279746573ull};
  const auto absorb = [&](uint64_t word) {
    s.v3 ^= word;
    s.Round(), s.Round();
    s.v0 ^= word;
  };
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    absorb(word);
  }
  uint64_t last = static_cast<uint64_t>(text.size() & 0xFF) << 56;
  for (size_t shift = 0; i < text.size(); ++i, shift += 8) {
    last |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << shift;
  }
  absorb(last);
  s.v2 ^= 0xFF;
  for (int round = 0; round < 4; ++round) s.Round();
  return ToHex64(s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
}

}  // namespace wf::decode
