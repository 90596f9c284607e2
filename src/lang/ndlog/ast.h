// The syntax tree of a program: the parser makes it, the compiler checks and localises it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "lang/common/diagnostic.h"
#include "lang/ndlog/value.h"

namespace wf::ndlog {

struct Place {
  int line = 1, column = 1, length = 1;
};

inline lang::Diagnostic At(const Place& place, std::string message, std::string hint = {}) {
  return {place.line, place.column, place.length, std::move(message), std::move(hint)};
}

struct Expression {
  enum class Kind : uint8_t {
    kConstant,
    kVariable,  // `name`; "_" is a new one each time
    kCall,      // f_`name`(args)
    kOperator,  // `name` is its sign; one argument or two
    kList,      // [args]
    kInterval,  // args[0] in (args[1], args[2]]; `name` holds the brackets, for example "(]"
  };
  Kind kind = Kind::kConstant;
  Value value;
  std::string name;
  std::vector<Expression> args;
  Place place;
  int slot = -1;  // for a variable: set by the compiler; for a call: the function
};

struct Atom {
  std::string name;
  std::vector<Expression> args;
  int location = -1;          // index of the argument with @
  bool link_literal = false;  // #link(@X,Y): the rule must be link-restricted
  Place place;
};

struct Term {
  enum class Kind : uint8_t { kAtom, kAssign, kCondition };
  Kind kind = Kind::kAtom;
  Atom atom;
  Expression target;      // kAssign: a variable
  Expression expression;  // kAssign, kCondition
};

enum class AggregateFunction : uint8_t { kMin, kMax, kCount, kSum, kList };

struct Aggregate {
  AggregateFunction function = AggregateFunction::kMin;
  size_t position = 0;  // index in the head's arguments; the expression there is aggregated
  Place place;
};

struct Rule {
  std::string label;
  Atom head;
  std::optional<Aggregate> aggregate;
  std::vector<Term> body;  // empty: a fact
  Place place;
};

struct Materialize {
  std::string name;
  std::optional<Nanos> lifetime;  // absent: infinity
  std::optional<int64_t> size;    // rows per node; absent: infinity
  std::vector<int64_t> keys;      // from 1; empty: the whole tuple
  Place place;
  std::vector<Place> key_places;
};

struct Source {
  std::vector<Materialize> tables;
  std::vector<Rule> rules;  // facts included
};

}  // namespace wf::ndlog
