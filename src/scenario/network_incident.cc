#include "scenario/network_incident.h"

#include <fmt/format.h>

#include "json/json_writer.h"

namespace wf::scenario {

Result<ndlog::Recording> RecordIncident(const NetworkIncident& incident, uint64_t seed) {
  ndlog::Recording recording;
  recording.program = incident.texts.program;
  recording.topology = incident.texts.topology;
  recording.inputs = incident.texts.inputs;
  recording.seed = seed;
  ndlog::RunOptions options;
  options.seed = seed;
  options.record = &recording.events;
  WF_TRY(ndlog::RunFromTexts(incident.texts, options));
  return recording;
}

Result<IncidentProvenance> ReplayIncident(const NetworkIncident& incident,
                                          const ndlog::Recording& recording) {
  IncidentProvenance out;
  const auto note = [&](const ProvenanceEvent& event, const IncidentRequest& request,
                        std::string& from, std::string& to) {
    if (event.type == ProvenanceType::kInsert && event.tuple == request.inserted) from = event.id;
    // A retry may bring it once more: the first answer is the one that was waited for.
    if (event.type == ProvenanceType::kDerive && event.tuple == request.derived && to.empty())
      to = event.id;
  };
  WF_TRY(ndlog::Replay(recording, [&](const ProvenanceEvent& event) -> Status {
    note(event, incident.slow, out.from, out.to);
    note(event, incident.normal, out.normal_from, out.normal_to);
    ++out.events;
    AppendProvenanceLine(event, out.lines);
    return {};
  }));
  for (const std::string* id : {&out.from, &out.to, &out.normal_from, &out.normal_to}) {
    if (id->empty())
      return EnvironmentError("the incident's own request was never answered",
                              "report this as a bug");
  }
  return out;
}

std::string IncidentQueryJson(const ScenarioOptions& options, const NetworkIncident& incident,
                              const IncidentProvenance& provenance) {
  JsonWriter json;
  json.BeginObject().Field("scenario", options.name).Field("question", incident.question);
  json.Field("seed", options.seed).Field("size", incident.servers);
  json.Field("from", provenance.from).Field("to", provenance.to).Key("culprit");
  if (options.fault == Fault::kOn) {
    json.BeginObject().Field("node", incident.culprit_node).Field("tuple", incident.culprit_tuple);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("normal").BeginObject().Field("from", provenance.normal_from);
  json.Field("to", provenance.normal_to).EndObject().EndObject();
  return json.Take() + "\n";
}

}  // namespace wf::scenario
