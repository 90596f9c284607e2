// Expressions with their values: operators, f_ functions, intervals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "lang/ndlog/ast.h"

namespace wf::ndlog {

// What evaluation may read, and where its first fault goes. A fault (a list where a number must be, a
// division by zero) ends the run: the program is wrong, and continuing would hide it.
struct Evaluation {
  Nanos now = 0;
  // Limits for the current tuple: a rule that multiplies large tables must neither hang nor use up the
  // memory.
  int64_t joins_left = 0;    // combinations of tuples to be tried
  int64_t matches_left = 0;  // ways in which the body holds
  int64_t weight_left = 0;   // of the heads derived from these
  std::string fault;         // empty: none
  Place fault_place;
};

// Variables are given by slot. Null if there is a fault.
Value Evaluate(const Expression& expression, const List& slots, Evaluation& evaluation);
// Whether a condition holds: true, or a number other than 0. Anything else is a fault.
bool Holds(const Value& value, const Place& place, Evaluation& evaluation);

struct Function {
  std::string_view name;
  size_t least, most;  // min and max number of arguments
  Value (*call)(const List& args, Evaluation& evaluation);
};
// Index of f_name; -1 if there is no such function.
int FindFunction(std::string_view name);
const Function& FunctionAt(int index);
std::vector<std::string> FunctionNames();

}  // namespace wf::ndlog
