// A rule between parsing and running: its atoms are separate from its other terms, and every argument of a
// body atom is a variable or a constant. This file also defines what can be computed from what, which orders
// localisation and joins.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lang/ndlog/ast.h"

namespace wf::ndlog {

struct FlatRule {
  std::string label;
  Atom head;
  std::optional<Aggregate> aggregate;
  std::vector<Atom> atoms;  // except range(…), which has no place and is among the others
  std::vector<Term> others;
  Place place;
};

using Names = std::set<std::string>;

void CollectVariables(const Expression& expression, Names& out);
Names VariablesOf(const Atom& atom);
bool AllIn(const Names& some, const Names& all);

// What a term that is not an atom does once the `bound` variables have values.
struct Readiness {
  enum class What : uint8_t { kNotYet, kCheck, kBinds };
  What what = What::kNotYet;
  std::string variable;   // kBinds
  Expression expression;  // kBinds: its value (range: the min)
  bool stays = false;     // kBinds: the term must still be checked afterwards
};
// An equation with one unknown is solved for it: B(@L,Q), Q=3*P gives P (Zeno §3.1).
Readiness ReadinessOf(const Term& term, const Names& bound);

inline bool IsRange(const Term& term) { return term.kind == Term::Kind::kAtom; }

}  // namespace wf::ndlog
