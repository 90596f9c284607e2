// Incidents R1 to R4 of Zeno §7.1: four switches, a controller and servers, run by network datalog.
// network_incident_plans.cc has the paper's facts about each; this file records and replays them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lang/ndlog/recording.h"
#include "lang/ndlog/simulation.h"
#include "scenario/scenario.h"

namespace wf::scenario {

// The tuples that identify the events of a request: an INS and a DRV.
struct IncidentRequest {
  std::string inserted, derived;
};

struct NetworkIncident {
  ndlog::RunTexts texts;
  std::string question;
  IncidentRequest slow;    // the request in question
  IncidentRequest normal;  // a similar one, before the incident
  std::string culprit_node, culprit_tuple;
  int64_t servers = 0;
};

const std::vector<ScenarioDescription>& NetworkIncidents();
bool IsNetworkIncident(std::string_view name);

// Program, network and inputs. Options as for any scenario; size: servers.
Result<NetworkIncident> PlanNetworkIncident(const ScenarioOptions& options);

// Runs it as it would be recorded in operation: inputs, order and times, without provenance.
Result<ndlog::Recording> RecordIncident(const NetworkIncident& incident, uint64_t seed);

struct IncidentProvenance {
  std::string lines;  // events.jsonl
  int64_t events = 0;
  std::string from, to, normal_from, normal_to;  // ids
};
// Runs the recording again, with provenance.
Result<IncidentProvenance> ReplayIncident(const NetworkIncident& incident,
                                          const ndlog::Recording& recording);

// The text of query.json.
std::string IncidentQueryJson(const ScenarioOptions& options, const NetworkIncident& incident,
                              const IncidentProvenance& provenance);

}  // namespace wf::scenario
