// Scenarios that run: the incidents Z1 to Z4 of Zeno §7.1, as processes of the demo system. Their traces are received
// here, turned into provenance events and written with the question to ask. demo/incident.cc has the tables.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "scenario/scenario.h"

namespace wf::cli {

// For `scenario list`.
const std::vector<scenario::ScenarioDescription>& IncidentScenarios();
bool IsIncidentScenario(const std::string& name);

// Takes a few seconds. Writes events.jsonl (docs/concepts/temporal-provenance.md) and query.json into `folder`, made when missing.
Result<scenario::ScenarioFiles> RunIncidentScenario(const scenario::ScenarioOptions& options,
                                                    const std::string& folder);

}  // namespace wf::cli
