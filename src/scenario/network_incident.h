// Incidents R1 to R4 of Zeno §7.1: four switches, a controller and servers, run by network datalog. What the paper
// tells of each is in network_incident_plans.cc; how they are recorded and replayed, here.
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

// Tuples by which an event is found: INS of one, DRV of the other.
struct IncidentRequest {
  std::string inserted, derived;
};

struct NetworkIncident {
  ndlog::RunTexts texts;
  std::string question;
  IncidentRequest slow;    // the request that is asked about
  IncidentRequest normal;  // one like it, before the trouble
  std::string culprit_node, culprit_tuple;
  int64_t servers = 0;
};

const std::vector<ScenarioDescription>& NetworkIncidents();
bool IsNetworkIncident(std::string_view name);

// Program, network and inputs. Options as for any scenario; size: servers.
Result<NetworkIncident> PlanNetworkIncident(const ScenarioOptions& options);

// The run as it would be recorded in operation: inputs, order and times, no provenance.
Result<ndlog::Recording> RecordIncident(const NetworkIncident& incident, uint64_t seed);

struct IncidentProvenance {
  std::string lines;  // events.jsonl
  int64_t events = 0;
  std::string from, to, normal_from, normal_to;  // ids
};
// Runs the recording again, now with provenance.
Result<IncidentProvenance> ReplayIncident(const NetworkIncident& incident,
                                          const ndlog::Recording& recording);

// The text of query.json.
std::string IncidentQueryJson(const ScenarioOptions& options, const NetworkIncident& incident,
                              const IncidentProvenance& provenance);

}  // namespace wf::scenario
