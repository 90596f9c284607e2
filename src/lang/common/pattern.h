// Pattern: regular expressions matched in time linear in the text, whatever the expression: Thompson's
// automaton with all states advanced together, without backtracking. This is `~` in our languages.
//
// Syntax, on bytes: literals; `.` any byte but newline; [abc] [a-z] [^…]; \d \w \s and \D \W \S, also inside
// brackets; ( ), (?: ), |; * + ? {m} {m,} {m,n} with at most 100 repetitions; ^ and $ at the text's bounds;
// \n \t; a backslash before any other sign takes it literally; (?i) at the beginning ignores the case of
// ASCII letters. A pattern matches when it matches anywhere in the text. Not supported: references,
// look-around, lazy quantifiers (they would not change an answer). Thread safety: immutable once compiled.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::lang {

class Pattern {
 public:
  // The error's message says what is wrong and where.
  static Result<Pattern> Compile(std::string_view expression);

  bool Matches(std::string_view text) const;
  size_t size() const { return program_.size(); }  // states, at most kMaxStates

  static constexpr size_t kMaxStates = 2000;

 private:
  friend class PatternCompiler;
  enum class Step : uint8_t { kByte, kSplit, kJump, kBegin, kEnd, kMatch };
  struct State {
    Step step = Step::kMatch;
    uint32_t next = 0, other = 0;  // kSplit has both
    uint32_t set = 0;              // kByte: index into sets_
  };

  std::vector<State> program_;
  std::vector<std::bitset<256>> sets_;
};

}  // namespace wf::lang
