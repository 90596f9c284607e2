// A policy of information flow as `wherefore record` passes it to the recorder: in one environment variable,
// lines of "KIND LABEL GLOB". KIND is i (an input of the label), d (an output it must not reach) or r (one
// that is reported); LABEL is a number below kMaxLabels. C++17, nothing but libc's headers: it is compiled
// into the recorded program too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wf::recorder {

constexpr char kPolicyVariable[] = "WHEREFORE_RECORD_POLICY";
constexpr uint32_t kMaxLabels = 64;        // a set of labels is one word
constexpr size_t kMaxPolicyText = 100000;  // Linux allows 131,072 bytes for a variable

enum class PolicyLine : char { kInput = 'i', kDeny = 'd', kReport = 'r' };

struct PolicyText {
  const char* begin;
  const char* end;
  bool empty() const { return begin == end; }
};

namespace glob {

// Matches a set; `at` is just after its bracket. Returns where the set ends, null if it does not: the bracket
// is then an ordinary character.
inline const char* MatchSet(const char* at, const char* end, char c, bool* matches) {
  const bool negated = at != end && (*at == '!' || *at == '^');
  if (negated) ++at;
  bool found = false;
  for (const char* first = at; at != end; ++at) {
    if (*at == ']' && at != first) {
      *matches = found != negated;
      return at + 1;
    }
    const auto low = static_cast<unsigned char>(*at);
    auto high = low;
    if (end - at > 2 && at[1] == '-' && at[2] != ']') {
      high = static_cast<unsigned char>(at[2]);
      at += 2;
    }
    const auto letter = static_cast<unsigned char>(c);
    found = found || (low <= letter && letter <= high);
  }
  return nullptr;
}

// Matches one character of the text at `at`. Returns the rest of the glob, null if it does not match.
inline const char* MatchOne(const char* at, const char* end, char c) {
  if (*at == '?') return at + 1;
  if (*at == '[') {
    bool matches = false;
    const char* behind = MatchSet(at + 1, end, c, &matches);
    if (behind != nullptr) return matches ? behind : nullptr;
  }
  if (*at == '\\' && end - at > 1) ++at;
  return *at == c ? at + 1 : nullptr;
}

}  // namespace glob

// `*` matches any characters, `/` included; `?` one; [a-z], [!a-z]; a backslash makes the next character
// literal. The whole text must match; the time is at most the product of the lengths.
inline bool GlobMatches(PolicyText glob, PolicyText text) {
  const char *pattern = glob.begin, *at = text.begin;
  const char *star = nullptr, *star_at = nullptr;
  while (at != text.end) {
    if (pattern != glob.end && *pattern == '*') {
      star = ++pattern;
      star_at = at;
      continue;
    }
    const char* next = pattern == glob.end ? nullptr : glob::MatchOne(pattern, glob.end, *at);
    if (next != nullptr) {
      pattern = next;
      ++at;
    } else if (star != nullptr) {
      pattern = star;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (pattern != glob.end && *pattern == '*') ++pattern;
  return pattern == glob.end;
}

// Calls `take(kind, label, glob)` for every line. Invalid lines are skipped.
template <typename Take>
void ForEachPolicyLine(PolicyText text, const Take& take) {
  for (const char* at = text.begin; at < text.end;) {
    const char* end = at;
    while (end != text.end && *end != '\n') ++end;
    if (end - at > 4 && at[1] == ' ') {
      const auto kind = static_cast<PolicyLine>(at[0]);
      uint32_t label = 0;
      const char* p = at + 2;
      for (; p != end && *p >= '0' && *p <= '9' && label < kMaxLabels; ++p)
        label = label * 10 + static_cast<uint32_t>(*p - '0');
      if (label < kMaxLabels && p != end && *p == ' ') take(kind, label, PolicyText{p + 1, end});
    }
    at = end + 1;
  }
}

}  // namespace wf::recorder
