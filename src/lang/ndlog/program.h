// A program ready to run: predicates by number, rules that read one node only, and for each tuple that may
// appear or disappear the strands of joins it triggers (pipelined semi-naïve evaluation).
//
// Thread safety: read-only once compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/ndlog/ast.h"

namespace wf::ndlog {

enum class PredicateKind : uint8_t {
  kTable,    // materialized: its tuples stay
  kEvent,    // its tuples are processed once
  kPeriodic  // events of a clock on every node
};

struct Predicate {
  std::string name;
  PredicateKind kind = PredicateKind::kEvent;
  int arity = 0;  // -1: a table that no rule uses; inputs may
  int location = 0;
  std::optional<Nanos> lifetime;
  std::optional<int64_t> size;
  std::vector<int> keys;  // columns, from 0; empty: all of them
  bool hidden = false;    // made by localisation, and in no answer
  Nanos period = 0;       // kPeriodic
  std::optional<int64_t> times;
  bool is_table() const { return kind == PredicateKind::kTable; }
};

// An argument of a body atom: a constant, or a variable.
struct Pattern {
  int slot = -1;  // -1: `value`
  Value value;
};

struct BodyAtom {
  int predicate = 0;
  std::vector<Pattern> args;
};

// How a tuple is matched with an atom: columns whose values are already known, columns that bind a variable,
// and columns that repeat a variable which another column of the same atom has just bound.
struct Columns {
  std::vector<int> known, fresh, repeated;
};

struct Step {
  enum class Kind : uint8_t { kMatch, kAssign, kCondition, kRange };
  Kind kind = Kind::kMatch;
  int atom = 0;           // kMatch
  Columns columns;        // kMatch
  int slot = -1;          // kAssign, kRange: the variable that is bound; -1: kRange only checks
  Expression counted;     // kRange
  Expression expression;  // kAssign, kCondition; kRange: the min
  Expression greatest;    // kRange: the max
};

// What happens when a tuple of the trigger's predicate arrives.
struct Strand {
  int trigger = 0;  // atom of the rule
  Columns columns;  // of the trigger
  std::vector<Step> steps;
};

struct CompiledRule {
  std::string label;
  Place place;
  int head = 0;
  std::vector<Expression> head_args;
  std::optional<Aggregate> aggregate;
  std::vector<BodyAtom> atoms;
  std::vector<Strand> strands;
  int slots = 0;
  int event = -1;  // the atom that is an event, if there is one; then it is the only trigger
};

struct StrandRef {
  int rule = 0, strand = 0;
};

struct Program {
  std::vector<Predicate> predicates;
  std::vector<CompiledRule> rules;
  std::vector<std::vector<StrandRef>> strands_of;  // by predicate
  std::vector<std::pair<int, List>> facts;         // predicate, values

  int Find(std::string_view name) const;  // -1: no such predicate, or a hidden one
};

struct Compiled {
  std::optional<Program> program;  // set unless there are errors
  std::vector<lang::Diagnostic> diagnostics;
};

Compiled Compile(std::string_view text);

// The first diagnostics as one error: file, line and column, the line with a caret, the hint.
Error ProgramError(std::string_view text, std::string_view file,
                   const std::vector<lang::Diagnostic>& diagnostics);

}  // namespace wf::ndlog
