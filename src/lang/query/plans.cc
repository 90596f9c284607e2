#include "lang/query/plans.h"

#include "lang/query/reference.h"

namespace wf::query {

Result<Plan> PlanByName(std::string_view name) {
  if (name == "reference") return Plan::kReference;
  if (name == "advice") return Plan::kAdvice;
  if (name == "rewritten" || name.empty()) return Plan::kRewritten;
  if (name == "emit") return Plan::kEmit;
  return BadInput("\"" + std::string(name) + "\" is no plan",
                  "plans are reference, advice, rewritten and emit");
}

Result<PlanRun> RunPlan(Plan plan, const Query& query, const Execution& execution) {
  (void)plan;
  PlanRun run;
  run.rows = EvaluateReference(query, execution);
  run.cost.emitted = run.rows.size();
  return run;
}

}  // namespace wf::query
