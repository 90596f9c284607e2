#include "model/provenance_event.h"

#include <array>

#include "json/json_writer.h"

namespace wf {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"INS", "DEL", "DRV", "UDRV", "SND", "RCV"};

}  // namespace

std::string_view ProvenanceTypeName(ProvenanceType type) {
  return kNames[static_cast<size_t>(type)];
}

std::optional<ProvenanceType> ProvenanceTypeOfName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ProvenanceType>(i);
  }
  return std::nullopt;
}

void AppendProvenanceLine(const ProvenanceEvent& event, std::string& out) {
  JsonWriter json;
  json.BeginObject().Field("id", event.id).Field("type", ProvenanceTypeName(event.type));
  json.Field("node", event.node).Field("tuple", event.tuple);
  json.Field("start_ns", event.start_ns).Field("end_ns", event.end_ns);
  if (!event.causes.empty()) {
    json.Key("causes").BeginArray();
    for (const std::string& cause : event.causes) json.String(cause);
    json.EndArray();
  }
  if (!event.rule.empty()) json.Field("rule", event.rule);
  if (!event.peer.empty()) json.Field("peer", event.peer);
  if (!event.origin.empty()) json.Field("origin", event.origin);
  if (event.ready_ns) json.Field("ready_ns", *event.ready_ns);
  if (event.holds) {
    const std::vector<ProvenanceHold>& holds = *event.holds;
    if (holds.size() == 1 && !holds[0].since_ns) {
      json.Field("resource", holds[0].resource);
    } else {
      json.Key("holds").BeginArray();
      for (const ProvenanceHold& hold : holds) {
        json.BeginObject().Field("resource", hold.resource);
        if (hold.since_ns) json.Field("since_ns", *hold.since_ns);
        json.EndObject();
      }
      json.EndArray();
    }
  }
  json.EndObject();
  out += json.Take();
  out += '\n';
}

void AppendProvenanceLine(const ResourceServers& servers, std::string& out) {
  JsonWriter json;
  json.BeginObject().Field("resource", servers.resource).Field("servers", servers.servers);
  json.EndObject();
  out += json.Take();
  out += '\n';
}

}  // namespace wf
