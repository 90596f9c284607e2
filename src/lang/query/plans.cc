#include "lang/query/plans.h"

#include "lang/query/compile.h"
#include "lang/query/plan_emit.h"
#include "lang/query/reference.h"
#include "lang/query/rewrite.h"

namespace wf::query {

Result<Plan> PlanByName(std::string_view name) {
  if (name == "reference") return Plan::kReference;
  if (name == "advice") return Plan::kAdvice;
  if (name == "rewritten" || name.empty()) return Plan::kRewritten;
  if (name == "emit") return Plan::kEmit;
  return BadInput("\"" + std::string(name) + "\" is not a plan",
                  "plans are reference, advice, rewritten and emit");
}

Result<PlanRun> RunPlan(Plan plan, const Query& query, const Execution& execution) {
  if (plan == Plan::kReference) {
    PlanRun run;
    run.rows = EvaluateReference(query, execution);
    run.cost.emitted = run.rows.size();
    return run;
  }
  if (plan == Plan::kAdvice) {
    WF_ASSIGN(const Compiled compiled, Compile(query));
    return RunAdvicePlan(compiled.program, execution);
  }
  WF_ASSIGN(const Compiled compiled, Rewrite(query));
  return plan == Plan::kEmit ? RunEmitPlan(compiled.program, execution)
                             : RunAdvicePlan(compiled.program, execution);
}

}  // namespace wf::query
