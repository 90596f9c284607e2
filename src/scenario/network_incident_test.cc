#include "scenario/network_incident.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "json/json_reader.h"

namespace wf::scenario {
namespace {

ScenarioOptions Options(std::string_view name, std::optional<int64_t> size = {},
                        Fault fault = Fault::kOn) {
  ScenarioOptions options;
  options.name = std::string(name);
  options.size = size;
  options.fault = fault;
  return options;
}

NetworkIncident Planned(const ScenarioOptions& options) {
  auto incident = PlanNetworkIncident(options);
  EXPECT_TRUE(incident.ok()) << (incident.ok() ? "" : incident.error().message);
  return incident.ok() ? *incident : NetworkIncident();
}

IncidentProvenance Provenance(const ScenarioOptions& options) {
  const NetworkIncident incident = Planned(options);
  const auto recording = RecordIncident(incident, options.seed);
  EXPECT_TRUE(recording.ok()) << (recording.ok() ? "" : recording.error().message);
  if (!recording.ok()) return {};
  auto provenance = ReplayIncident(incident, *recording);
  EXPECT_TRUE(provenance.ok()) << (provenance.ok() ? "" : provenance.error().message);
  return provenance.ok() ? *provenance : IncidentProvenance();
}

struct Event {
  std::string type, node, tuple;
  Nanos start = 0, end = 0;
  std::vector<std::string> causes;
};

std::map<std::string, Event> Read(const std::string& lines) {
  std::map<std::string, Event> out;
  JsonParser parser;
  for (size_t begin = 0, end; begin < lines.size(); begin = end + 1) {
    end = lines.find('\n', begin);
    const auto line = parser.Parse(std::string_view(lines).substr(begin, end - begin));
    EXPECT_TRUE(line.ok());
    if (!line.ok()) break;
    Event& event = out[std::string(line->Get("id").String())];
    event.type = line->Get("type").String();
    event.node = line->Get("node").String();
    event.tuple = line->Get("tuple").String();
    event.start = *line->Get("start_ns").Int();
    event.end = *line->Get("end_ns").Int();
    for (const JsonValue cause : line->Get("causes").Elements())
      event.causes.emplace_back(cause.String());
  }
  return out;
}

TEST(NetworkIncident, HaveThePapersNetworks) {
  const std::map<std::string, int64_t> servers = {{"R1", 3}, {"R2", 3}, {"R3", 115}, {"R4", 95}};
  ASSERT_EQ(NetworkIncidents().size(), servers.size());
  for (const ScenarioDescription& known : NetworkIncidents()) {
    const NetworkIncident incident = Planned(Options(known.name));
    EXPECT_EQ(incident.servers, servers.at(std::string(known.name)));
    size_t nodes = 0;
    for (size_t at = 0; (at = incident.texts.topology.find("{\"node\":", at)) != std::string::npos;
         ++at)
      ++nodes;
    EXPECT_EQ(nodes, static_cast<size_t>(incident.servers) + 5)
        << known.name;  // four switches, one controller
  }
}

TEST(NetworkIncident, TheRequestIsItsOwnCauseAndTheCulpritIsNot) {
  for (const ScenarioDescription& known : NetworkIncidents()) {
    const ScenarioOptions options = Options(known.name);
    const NetworkIncident incident = Planned(options);
    const IncidentProvenance provenance = Provenance(options);
    const auto events = Read(provenance.lines);
    ASSERT_EQ(static_cast<int64_t>(events.size()), provenance.events);
    std::set<std::string> ancestors;
    std::vector<std::string> left = {provenance.to};
    while (!left.empty()) {
      const std::string at = left.back();
      left.pop_back();
      if (!ancestors.insert(at).second) continue;
      for (const std::string& cause : events.at(at).causes) left.push_back(cause);
    }
    EXPECT_EQ(ancestors.count(provenance.from), 1u) << known.name;
    int64_t culprits = 0;
    for (const auto& [id, event] : events) {
      const bool culprit = event.node == incident.culprit_node &&
                           event.tuple.rfind(incident.culprit_tuple + "(", 0) == 0;
      if (!culprit) continue;
      ++culprits;
      EXPECT_EQ(ancestors.count(id), 0u) << known.name << " " << id;
    }
    EXPECT_GT(culprits, 10) << known.name;
  }
}

TEST(NetworkIncident, WithoutTheFaultOnlyTheTroubleIsMissing) {
  for (const ScenarioDescription& known : NetworkIncidents()) {
    const NetworkIncident with = Planned(Options(known.name)),
                          without = Planned(Options(known.name, {}, Fault::kOff));
    EXPECT_EQ(with.texts.program, without.texts.program);
    EXPECT_EQ(with.texts.topology, without.texts.topology);
    // The inputs without it are those with it, some left out.
    size_t at = 0, kept = 0;
    const std::string& all = with.texts.inputs;
    for (size_t begin = 0, end; begin < without.texts.inputs.size(); begin = end + 1, ++kept) {
      end = without.texts.inputs.find('\n', begin);
      const size_t found = all.find(without.texts.inputs.substr(begin, end - begin + 1), at);
      ASSERT_NE(found, std::string::npos) << known.name;
      at = found + (end - begin + 1);
    }
    EXPECT_LT(without.texts.inputs.size(), all.size()) << known.name;
    EXPECT_GT(kept, 5u);
    const auto events = Read(Provenance(Options(known.name, {}, Fault::kOff)).lines);
    EXPECT_FALSE(events.empty());
  }
}

TEST(NetworkIncident, TheSeedDecides) {
  ScenarioOptions options = Options("R3", 20);
  const std::string first = Provenance(options).lines;
  EXPECT_EQ(first, Provenance(options).lines);
  options.seed = 2;
  EXPECT_NE(first, Provenance(options).lines);
}

TEST(NetworkIncident, SizesOutOfBoundsAreRefused) {
  for (const int64_t size : {0, 2, 5001}) {
    const auto incident = PlanNetworkIncident(Options("R1", size));
    ASSERT_FALSE(incident.ok());
    EXPECT_EQ(incident.error().code, ErrorCode::kBadInput);
  }
  EXPECT_EQ(Planned(Options("R1", 10)).servers, 10);
  EXPECT_FALSE(PlanNetworkIncident(Options("R9")).ok());
}

}  // namespace
}  // namespace wf::scenario
