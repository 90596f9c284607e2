#include "lang/ndlog/recursion.h"

namespace wf::ndlog {
namespace {

// Whether `to` can be derived from `from`, by rules of tables only: what an event sets off is over when it is done.
bool Leads(const Program& program, int from, int to) {
  std::vector<bool> seen(program.predicates.size());
  std::vector<int> left = {from};
  while (!left.empty()) {
    const int at = left.back();
    left.pop_back();
    if (at == to) return true;
    if (seen[static_cast<size_t>(at)]) continue;
    seen[static_cast<size_t>(at)] = true;
    for (const CompiledRule& rule : program.rules) {
      if (rule.event >= 0) continue;
      for (const BodyAtom& atom : rule.atoms)
        if (atom.predicate == at) left.push_back(rule.head);
    }
  }
  return false;
}

}  // namespace

void CheckAggregatesInRecursion(const Program& program,
                                std::vector<lang::Diagnostic>& diagnostics) {
  for (const CompiledRule& rule : program.rules) {
    if (!rule.aggregate || rule.event >= 0) continue;
    const AggregateFunction function = rule.aggregate->function;
    if (function == AggregateFunction::kMin || function == AggregateFunction::kMax) continue;
    for (const BodyAtom& atom : rule.atoms) {
      if (!Leads(program, rule.head, atom.predicate)) continue;
      diagnostics.push_back(At(rule.aggregate->place,
                               "what is aggregated here depends on the result",
                               "only MIN and MAX may stand in a recursion"));
      break;
    }
  }
}

}  // namespace wf::ndlog
