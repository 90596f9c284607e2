// Compile: parse → names, arities and keys → flat rules → localised rules → strands → recursion check. Each pass adds
// its diagnostics; the next one runs only when there are none, because it relies on what the pass has checked.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/check.h"
#include "lang/common/suggestion.h"
#include "lang/ndlog/expression.h"
#include "lang/ndlog/flat_rule.h"
#include "lang/ndlog/localizer.h"
#include "lang/ndlog/parser.h"
#include "lang/ndlog/program.h"
#include "lang/ndlog/recursion.h"
#include "lang/ndlog/strand_builder.h"

namespace wf::ndlog {
namespace {

constexpr std::string_view kPeriodicName = "periodic", kRangeName = "range";

class Compiler {
 public:
  explicit Compiler(std::string_view text) {
    Parsed parsed = Parse(text);
    source_ = std::move(parsed.source);
    out_.diagnostics = std::move(parsed.diagnostics);
  }

  Compiled Run() {
    using Pass = void (Compiler::*)();
    for (const Pass pass :
         {&Compiler::LabelRules, &Compiler::DeclareTables, &Compiler::DeclareUses,
          &Compiler::CheckExpressions, &Compiler::SettleKeys, &Compiler::FlattenRules,
          &Compiler::LocalizeRules, &Compiler::BuildRules, &Compiler::CheckRecursion}) {
      if (out_.diagnostics.empty()) (this->*pass)();
    }
    if (out_.diagnostics.empty()) out_.program = std::move(program_);
    return std::move(out_);
  }

 private:
  void Complain(const Place& place, std::string message, std::string hint = {}) {
    out_.diagnostics.push_back(At(place, std::move(message), std::move(hint)));
  }

  void LabelRules() {
    std::map<std::string, Place> seen;
    int number = 0;
    for (Rule& rule : source_.rules) {
      if (rule.body.empty()) continue;
      ++number;
      if (rule.label.empty()) rule.label = fmt::format("rule{}", number);
      const auto [found, fresh] = seen.emplace(rule.label, rule.place);
      if (!fresh)
        Complain(
            rule.place,
            fmt::format("the rule of line {} is called {} too", found->second.line, rule.label),
            "costs and provenance name rules, so each has a name of its own");
    }
  }

  void DeclareTables() {
    for (const Materialize& table : source_.tables) {
      if (table.name == kPeriodicName || table.name == kRangeName || table.name == "materialize" ||
          table.name.rfind("f_", 0) == 0) {
        Complain(table.place, table.name + " has a meaning of its own and cannot be a table");
        continue;
      }
      if (ids_.count(table.name) > 0) {
        Complain(table.place, table.name + " is materialized twice");
        continue;
      }
      Predicate predicate;
      predicate.name = table.name;
      predicate.kind = PredicateKind::kTable;
      predicate.arity = -1;
      predicate.location = -1;
      predicate.lifetime = table.lifetime;
      predicate.size = table.size;
      Add(std::move(predicate));
    }
  }

  int Add(Predicate predicate) {
    const int id = static_cast<int>(program_.predicates.size());
    ids_.emplace(predicate.name, id);
    program_.predicates.push_back(std::move(predicate));
    return id;
  }

  void DeclareUses() {
    for (Rule& rule : source_.rules) {
      Declare(rule.head);
      if (rule.head.name == kPeriodicName || rule.head.name == kRangeName)
        Complain(rule.head.place, rule.head.name + " cannot be derived");
      for (Term& term : rule.body)
        if (term.kind == Term::Kind::kAtom) Declare(term.atom);
    }
  }

  void Declare(Atom& atom) {
    if (atom.name == kRangeName) {
      if (atom.args.size() != 3 || atom.location >= 0)
        Complain(atom.place, "range counts: range(I, Least, Greatest)", "it has no place");
      return;
    }
    if (atom.location < 0) {
      Complain(atom.place, fmt::format("{} does not say on which node it is", atom.name),
               "write @ before the argument that names the node: " + atom.name + "(@X, …)");
      return;
    }
    const Expression& location = atom.args[static_cast<size_t>(atom.location)];
    const bool named =
        location.kind == Expression::Kind::kVariable ||
        (location.kind == Expression::Kind::kConstant && location.value.Text() != nullptr);
    if (!named) {
      Complain(location.place, "a node is a variable or a name");
      return;
    }
    if (atom.name == kPeriodicName) return DeclarePeriodic(atom);
    const int arity = static_cast<int>(atom.args.size());
    const auto found = ids_.find(atom.name);
    if (found == ids_.end()) {
      Predicate predicate;
      predicate.name = atom.name;
      predicate.arity = arity;
      predicate.location = atom.location;
      Add(std::move(predicate));
      return;
    }
    Predicate& predicate = program_.predicates[static_cast<size_t>(found->second)];
    if (predicate.arity < 0) {
      predicate.arity = arity;
      predicate.location = atom.location;
    }
    if (predicate.arity != arity)
      Complain(atom.place, fmt::format("{} has {} arguments here and {} elsewhere", atom.name,
                                       arity, predicate.arity));
    else if (predicate.location != atom.location)
      Complain(location.place, fmt::format("elsewhere, argument {} of {} names the node",
                                           predicate.location + 1, atom.name));
  }

  // periodic(@X, E, Seconds[, Times]): each period is a predicate of its own, a clock on every node.
  void DeclarePeriodic(Atom& atom) {
    const bool shape = (atom.args.size() == 3 || atom.args.size() == 4) && atom.location == 0;
    if (!shape) {
      Complain(atom.place, "periodic(@X, E, Seconds) or periodic(@X, E, Seconds, Times)");
      return;
    }
    const Expression& period = atom.args[2];
    const bool number = period.kind == Expression::Kind::kConstant && period.value.IsNumber();
    if (!number || period.value.Number() < 1e-9 || period.value.Number() > 9e9) {
      Complain(period.place, "a period is a number of seconds above 0");
      return;
    }
    Predicate predicate;
    predicate.kind = PredicateKind::kPeriodic;
    predicate.arity = static_cast<int>(atom.args.size());
    predicate.period = static_cast<Nanos>(period.value.Number() * 1e9);
    std::string name = "periodic " + period.value.Shown();
    if (atom.args.size() == 4) {
      const Expression& times = atom.args[3];
      if (times.kind != Expression::Kind::kConstant || times.value.Int() == nullptr ||
          *times.value.Int() < 1) {
        Complain(times.place, "the number of times is a whole number above 0");
        return;
      }
      predicate.times = *times.value.Int();
      name += " " + times.value.Shown();
    }
    atom.name = name;
    if (ids_.count(name) > 0) return;
    predicate.name = "periodic";
    predicate.hidden = true;
    const int id = static_cast<int>(program_.predicates.size());
    ids_.emplace(name, id);
    program_.predicates.push_back(std::move(predicate));
  }

  void CheckExpressions() {
    const auto check = [&](Expression& expression, auto&& self) -> void {
      for (Expression& arg : expression.args) self(arg, self);
      if (expression.kind != Expression::Kind::kCall) return;
      expression.slot = FindFunction(expression.name);
      if (expression.slot < 0) {
        Complain(expression.place, fmt::format("there is no function {}", expression.name),
                 lang::DidYouMean(expression.name, FunctionNames()));
        return;
      }
      const Function& function = FunctionAt(expression.slot);
      const size_t given = expression.args.size();
      if (given < function.least || given > function.most)
        Complain(
            expression.place,
            fmt::format("{} takes {}{} arguments, not {}", function.name, function.least,
                        function.most > function.least ? fmt::format(" to {}", function.most) : "",
                        given));
    };
    for (Rule& rule : source_.rules) {
      for (Expression& arg : rule.head.args) check(arg, check);
      for (Term& term : rule.body) {
        for (Expression& arg : term.atom.args) check(arg, check);
        check(term.expression, check);
      }
    }
  }

  void SettleKeys() {
    for (const Materialize& table : source_.tables) {
      Predicate& predicate = program_.predicates[static_cast<size_t>(ids_.at(table.name))];
      for (size_t i = 0; i < table.keys.size(); ++i) {
        if (predicate.arity >= 0 && table.keys[i] > predicate.arity) {
          Complain(table.key_places[i],
                   fmt::format("{} has {} attributes", table.name, predicate.arity));
        } else {
          predicate.keys.push_back(static_cast<int>(table.keys[i]) - 1);
        }
      }
      std::sort(predicate.keys.begin(), predicate.keys.end());
      predicate.keys.erase(std::unique(predicate.keys.begin(), predicate.keys.end()),
                           predicate.keys.end());
      if (predicate.arity < 0) predicate.location = 0;  // only inputs use it
    }
  }

  bool IsEvent(const std::string& name) const {
    return !program_.predicates[static_cast<size_t>(ids_.at(name))].is_table();
  }

  void FlattenRules() {
    for (Rule& rule : source_.rules) {
      if (rule.body.empty()) {
        AddFact(rule);
        continue;
      }
      FlatRule flat;
      flat.label = rule.label;
      flat.place = rule.place;
      flat.head = std::move(rule.head);
      flat.aggregate = rule.aggregate;
      for (Term& term : rule.body) {
        if (term.kind != Term::Kind::kAtom || term.atom.name == kRangeName) {
          flat.others.push_back(std::move(term));
          continue;
        }
        flat.atoms.push_back(std::move(term.atom));
      }
      for (Atom& atom : flat.atoms) FlattenArguments(atom, flat);
      for (Term& term : flat.others)
        if (IsRange(term)) NameAnonymous(term.atom.args[0]);
      CheckBody(flat);
      flat_.push_back(std::move(flat));
    }
  }

  void AddFact(const Rule& rule) {
    List values;
    for (const Expression& arg : rule.head.args) {
      Names variables;
      CollectVariables(arg, variables);
      if (!variables.empty() || rule.aggregate) {
        Complain(arg.place, "a fact has no variables", "a rule goes on with :-");
        return;
      }
      Evaluation evaluation;
      values.push_back(Evaluate(arg, {}, evaluation));
      if (!evaluation.fault.empty()) Complain(arg.place, evaluation.fault);
    }
    program_.facts.emplace_back(ids_.at(rule.head.name), std::move(values));
  }

  void NameAnonymous(Expression& arg) {
    if (arg.kind == Expression::Kind::kVariable && arg.name == "_")
      arg.name = fmt::format("_{}", ++anonymous_);
  }

  // p(@X, Y+1) in a body becomes p(@X, _7), _7 == Y+1.
  void FlattenArguments(Atom& atom, FlatRule& flat) {
    for (Expression& arg : atom.args) {
      NameAnonymous(arg);
      if (arg.kind == Expression::Kind::kVariable || arg.kind == Expression::Kind::kConstant)
        continue;
      Expression variable;
      variable.kind = Expression::Kind::kVariable;
      variable.name = fmt::format("_{}", ++anonymous_);
      variable.place = arg.place;
      Term term;
      term.kind = Term::Kind::kCondition;
      term.expression.kind = Expression::Kind::kOperator;
      term.expression.name = "==";
      term.expression.place = arg.place;
      term.expression.args = {variable, std::move(arg)};
      arg = std::move(variable);
      flat.others.push_back(std::move(term));
    }
  }

  void CheckBody(const FlatRule& flat) {
    if (flat.atoms.empty()) {
      Complain(flat.place, "the body has no atom that says on which node the rule works");
      return;
    }
    const Atom* event = nullptr;
    for (const Atom& atom : flat.atoms) {
      if (!IsEvent(atom.name)) continue;
      if (event != nullptr) {
        Complain(
            atom.place,
            fmt::format("{} and {} are both events, and two events are never there at once",
                        event->name, atom.name),
            fmt::format("materialize one of them: materialize({}, infinity, infinity, keys(…)).",
                        atom.name));
        return;
      }
      event = &atom;
    }
  }

  void LocalizeRules() {
    std::vector<FlatRule> local;
    for (const FlatRule& flat : flat_) {
      Localized parts = Localize(flat, [&](const std::string& name) { return IsEvent(name); });
      out_.diagnostics.insert(out_.diagnostics.end(), parts.diagnostics.begin(),
                              parts.diagnostics.end());
      for (size_t i = 0; i < parts.mid_names.size(); ++i) DeclareMid(parts, i);
      for (FlatRule& rule : parts.rules) local.push_back(std::move(rule));
    }
    flat_ = std::move(local);
  }

  void DeclareMid(const Localized& parts, size_t i) {
    const Atom& head = parts.rules[i].head;
    if (ids_.count(head.name) > 0) {
      Complain(parts.rules[i].place,
               fmt::format("the name {} is needed for what this rule sends", head.name),
               "give the rule another name");
      return;
    }
    Predicate predicate;
    predicate.name = head.name;
    predicate.kind = parts.mid_is_event[i] ? PredicateKind::kEvent : PredicateKind::kTable;
    predicate.arity = static_cast<int>(head.args.size());
    predicate.hidden = true;
    // What is sent on lives as long as what it was made of: the shortest of their lifetimes.
    for (const Atom& atom : parts.rules[i].atoms) {
      const auto& lifetime = program_.predicates[static_cast<size_t>(ids_.at(atom.name))].lifetime;
      if (lifetime && (!predicate.lifetime || *lifetime < *predicate.lifetime))
        predicate.lifetime = lifetime;
    }
    Add(std::move(predicate));
  }

  void BuildRules() {
    for (const FlatRule& flat : flat_)
      program_.rules.push_back(BuildStrands(
          flat, [&](const Atom& atom) { return ids_.at(atom.name); }, program_.predicates,
          out_.diagnostics));
    program_.strands_of.resize(program_.predicates.size());
    for (size_t r = 0; r < program_.rules.size(); ++r) {
      const CompiledRule& rule = program_.rules[r];
      for (size_t s = 0; s < rule.strands.size(); ++s) {
        const int predicate = rule.atoms[static_cast<size_t>(rule.strands[s].trigger)].predicate;
        program_.strands_of[static_cast<size_t>(predicate)].push_back(
            {static_cast<int>(r), static_cast<int>(s)});
      }
    }
  }

  void CheckRecursion() { CheckAggregatesInRecursion(program_, out_.diagnostics); }

  Source source_;
  std::map<std::string, int> ids_;
  std::vector<FlatRule> flat_;
  int anonymous_ = 0;
  Program program_;
  Compiled out_;
};

}  // namespace

int Program::Find(std::string_view name) const {
  for (size_t i = 0; i < predicates.size(); ++i)
    if (!predicates[i].hidden && predicates[i].name == name) return static_cast<int>(i);
  return -1;
}

Compiled Compile(std::string_view text) { return Compiler(text).Run(); }

Error ProgramError(std::string_view text, std::string_view file,
                   const std::vector<lang::Diagnostic>& diagnostics) {
  WF_CHECK(!diagnostics.empty());
  constexpr size_t kShown = 5;
  const lang::Diagnostic& first = diagnostics.front();
  std::string message = fmt::format("{}:{}:{}: {}", file, first.line, first.column, first.message);
  for (size_t i = 0; i < diagnostics.size() && i < kShown; ++i)
    message += "\n" + lang::RenderDiagnostic(text, diagnostics[i]);
  if (diagnostics.size() > kShown)
    message += fmt::format("… and {} more\n", diagnostics.size() - kShown);
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return BadInput(std::move(message), "docs/reference/ndlog.md describes the language");
}

}  // namespace wf::ndlog
