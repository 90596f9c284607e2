#include "lang/ndlog/strand_builder.h"

#include <map>

namespace wf::ndlog {
namespace {

class Builder {
 public:
  Builder(const FlatRule& rule, const std::function<int(const Atom&)>& predicate_of,
          const std::vector<Predicate>& predicates, std::vector<lang::Diagnostic>& diagnostics)
      : rule_(rule), predicates_(predicates), diagnostics_(diagnostics) {
    out_.label = rule.label;
    out_.place = rule.place;
    out_.aggregate = rule.aggregate;
    out_.head = predicate_of(rule.head);
    for (const Atom& atom : rule.atoms) {
      BodyAtom body;
      body.predicate = predicate_of(atom);
      for (const Expression& arg : atom.args) {
        Pattern pattern;
        if (arg.kind == Expression::Kind::kVariable) {
          pattern.slot = SlotOf(arg.name);
        } else {
          pattern.value = arg.value;
        }
        body.args.push_back(std::move(pattern));
      }
      if (!predicates_[static_cast<size_t>(body.predicate)].is_table())
        out_.event = static_cast<int>(out_.atoms.size());
      out_.atoms.push_back(std::move(body));
    }
  }

  CompiledRule Run() {
    for (size_t i = 0; i < rule_.atoms.size(); ++i) {
      if (out_.event >= 0 && static_cast<int>(i) != out_.event) continue;
      if (!Build(i)) break;  // the same would be wrong in every strand
    }
    out_.slots = static_cast<int>(slots_.size());
    return std::move(out_);
  }

 private:
  int SlotOf(const std::string& name) {
    return slots_.emplace(name, static_cast<int>(slots_.size())).first->second;
  }
  Expression WithSlots(Expression expression) {
    if (expression.kind == Expression::Kind::kVariable) expression.slot = SlotOf(expression.name);
    for (Expression& arg : expression.args) arg = WithSlots(std::move(arg));
    return expression;
  }

  Columns ColumnsOf(size_t atom, const Names& bound) const {
    Columns columns;
    Names here;
    const std::vector<Expression>& args = rule_.atoms[atom].args;
    for (size_t i = 0; i < args.size(); ++i) {
      const int column = static_cast<int>(i);
      if (args[i].kind != Expression::Kind::kVariable || bound.count(args[i].name) > 0) {
        columns.known.push_back(column);
      } else if (here.insert(args[i].name).second) {
        columns.fresh.push_back(column);
      } else {
        columns.repeated.push_back(column);
      }
    }
    return columns;
  }

  bool Build(size_t trigger) {
    Strand strand;
    strand.trigger = static_cast<int>(trigger);
    strand.columns = ColumnsOf(trigger, {});
    Names bound = VariablesOf(rule_.atoms[trigger]);
    std::vector<bool> atom_done(rule_.atoms.size()), term_done(rule_.others.size());
    atom_done[trigger] = true;
    while (true) {
      PlaceTerms(bound, term_done, strand);
      const int next = BestAtom(bound, atom_done);
      if (next < 0) break;
      Step step;
      step.atom = next;
      step.columns = ColumnsOf(static_cast<size_t>(next), bound);
      strand.steps.push_back(std::move(step));
      bound.merge(VariablesOf(rule_.atoms[static_cast<size_t>(next)]));
      atom_done[static_cast<size_t>(next)] = true;
    }
    const bool ok = CheckAllBound(bound, term_done);
    if (ok && out_.head_args.empty())
      for (const Expression& arg : rule_.head.args) out_.head_args.push_back(WithSlots(arg));
    out_.strands.push_back(std::move(strand));
    return ok;
  }

  void PlaceTerms(Names& bound, std::vector<bool>& done, Strand& strand) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < done.size(); ++i) {
        if (done[i]) continue;
        const Term& term = rule_.others[i];
        const Readiness ready = ReadinessOf(term, bound);
        if (ready.what == Readiness::What::kNotYet) continue;
        strand.steps.push_back(StepOf(term, ready));
        if (ready.what == Readiness::What::kBinds) bound.insert(ready.variable);
        done[i] = !ready.stays;
        changed = true;
      }
    }
  }

  Step StepOf(const Term& term, const Readiness& ready) {
    Step step;
    if (IsRange(term)) {
      step.kind = Step::Kind::kRange;
      step.expression = WithSlots(term.atom.args[1]);
      step.greatest = WithSlots(term.atom.args[2]);
      step.counted = WithSlots(term.atom.args[0]);
      step.slot = ready.what == Readiness::What::kBinds ? SlotOf(ready.variable) : -1;
    } else if (ready.what == Readiness::What::kBinds) {
      step.kind = Step::Kind::kAssign;
      step.slot = SlotOf(ready.variable);
      step.expression = WithSlots(ready.expression);
    } else {
      step.kind = Step::Kind::kCondition;
      step.expression = term.expression;
      if (term.kind == Term::Kind::kAssign) {  // of what has a value already: are they equal?
        step.expression.kind = Expression::Kind::kOperator;
        step.expression.name = "==";
        step.expression.args = {term.target, term.expression};
        step.expression.place = term.target.place;
      }
      step.expression = WithSlots(std::move(step.expression));
    }
    return step;
  }

  // The atom most of whose columns are known, so that few tuples match; the first of these.
  int BestAtom(const Names& bound, const std::vector<bool>& done) const {
    int best = -1;
    size_t best_known = 0;
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i]) continue;
      const size_t known = ColumnsOf(i, bound).known.size();
      if (best >= 0 && known <= best_known) continue;
      best = static_cast<int>(i);
      best_known = known;
    }
    return best;
  }

  bool CheckAllBound(const Names& bound, const std::vector<bool>& done) {
    const size_t before = diagnostics_.size();
    const auto complain = [&](const Expression& expression, auto&& self) -> void {
      if (expression.kind == Expression::Kind::kVariable && bound.count(expression.name) == 0) {
        diagnostics_.push_back(
            At(expression.place, expression.name + " has no value",
               expression.name[0] == '_'
                   ? "_ stands for anything, so nothing can be done with it"
                   : "each variable stands in an atom of the body, or is assigned by :="));
        return;
      }
      for (const Expression& arg : expression.args) self(arg, self);
    };
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i]) continue;
      const Term& term = rule_.others[i];
      if (IsRange(term)) {
        for (const Expression& arg : term.atom.args) complain(arg, complain);
      } else {
        complain(term.expression, complain);
      }
      if (diagnostics_.size() > before) return false;
    }
    for (const Expression& arg : rule_.head.args) {
      complain(arg, complain);
      if (diagnostics_.size() > before) return false;
    }
    return true;
  }

  const FlatRule& rule_;
  const std::vector<Predicate>& predicates_;
  std::vector<lang::Diagnostic>& diagnostics_;
  std::map<std::string, int> slots_;
  CompiledRule out_;
};

}  // namespace

CompiledRule BuildStrands(const FlatRule& rule, const std::function<int(const Atom&)>& predicate_of,
                          const std::vector<Predicate>& predicates,
                          std::vector<lang::Diagnostic>& diagnostics) {
  return Builder(rule, predicate_of, predicates, diagnostics).Run();
}

}  // namespace wf::ndlog
