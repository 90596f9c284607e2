#include "lang/ndlog/flat_rule.h"

#include <algorithm>

namespace wf::ndlog {
namespace {

void CollectUnknown(const Expression& expression, const Names& bound,
                    std::vector<std::string>& out) {
  if (expression.kind == Expression::Kind::kVariable && bound.count(expression.name) == 0)
    out.push_back(expression.name);
  for (const Expression& arg : expression.args) CollectUnknown(arg, bound, out);
}

Expression Operation(std::string sign, Expression left, Expression right) {
  Expression out;
  out.kind = Expression::Kind::kOperator;
  out.place = left.place;
  out.name = std::move(sign);
  out.args.push_back(std::move(left));
  out.args.push_back(std::move(right));
  return out;
}

bool Mentions(const Expression& expression, const std::string& name) {
  Names names;
  CollectVariables(expression, names);
  return names.count(name) > 0;
}

// side == value, where `name` stands once in side, under + - * only.
std::optional<Expression> SolveFor(const std::string& name, const Expression& side,
                                   Expression value) {
  if (side.kind == Expression::Kind::kVariable) return value;
  if (side.kind != Expression::Kind::kOperator || side.args.size() != 2) return std::nullopt;
  const bool in_left = Mentions(side.args[0], name);
  const Expression& with = side.args[in_left ? 0 : 1];
  const Expression& without = side.args[in_left ? 1 : 0];
  if (side.name == "+") return SolveFor(name, with, Operation("-", std::move(value), without));
  if (side.name == "*") return SolveFor(name, with, Operation("/", std::move(value), without));
  if (side.name != "-") return std::nullopt;
  if (in_left) return SolveFor(name, with, Operation("+", std::move(value), without));
  return SolveFor(name, with, Operation("-", without, std::move(value)));
}

Readiness OfEquation(const Expression& equation, const Names& bound) {
  for (const size_t side : {size_t{0}, size_t{1}}) {
    std::vector<std::string> here, there;
    CollectUnknown(equation.args[side], bound, here);
    CollectUnknown(equation.args[1 - side], bound, there);
    if (here.size() != 1 || !there.empty()) continue;
    auto value = SolveFor(here[0], equation.args[side], equation.args[1 - side]);
    if (!value) continue;
    // Whole numbers divide with a rest: what was computed must be held against the equation.
    const bool stays = equation.args[side].kind != Expression::Kind::kVariable;
    return {Readiness::What::kBinds, here[0], std::move(*value), stays};
  }
  return {};
}

}  // namespace

void CollectVariables(const Expression& expression, Names& out) {
  if (expression.kind == Expression::Kind::kVariable) out.insert(expression.name);
  for (const Expression& arg : expression.args) CollectVariables(arg, out);
}

Names VariablesOf(const Atom& atom) {
  Names out;
  for (const Expression& arg : atom.args) CollectVariables(arg, out);
  return out;
}

bool AllIn(const Names& some, const Names& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

Readiness ReadinessOf(const Term& term, const Names& bound) {
  Names needs;
  if (IsRange(term)) {
    CollectVariables(term.atom.args[1], needs);
    CollectVariables(term.atom.args[2], needs);
    if (!AllIn(needs, bound)) return {};
    const Expression& counted = term.atom.args[0];
    if (counted.kind == Expression::Kind::kVariable && bound.count(counted.name) == 0)
      return {Readiness::What::kBinds, counted.name, term.atom.args[1], false};
    CollectVariables(counted, needs);
    if (AllIn(needs, bound)) return {Readiness::What::kCheck, "", {}, false};
    return {};
  }
  CollectVariables(term.expression, needs);
  if (term.kind == Term::Kind::kAssign) {
    if (!AllIn(needs, bound)) return {};
    if (bound.count(term.target.name) > 0) return {Readiness::What::kCheck, "", {}, false};
    return {Readiness::What::kBinds, term.target.name, term.expression, false};
  }
  if (AllIn(needs, bound)) return {Readiness::What::kCheck, "", {}, false};
  const bool equation =
      term.expression.kind == Expression::Kind::kOperator && term.expression.name == "==";
  return equation ? OfEquation(term.expression, bound) : Readiness{};
}

}  // namespace wf::ndlog
