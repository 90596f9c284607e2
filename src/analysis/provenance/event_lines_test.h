// For tests: executions as text that can be read beside a figure. One event a line:
//   TYPE ID NODE START..END [< CAUSE...] [tuple=T] [origin=O] [ready=T] [holds=R[@SINCE],...] [resource=R]
// or `servers R K`. Times are in tenths, written with a point: 2.5 is 25. `holds=` alone is an empty list.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"

namespace wf::testing {}

namespace wf::provenance::testing {

using namespace wf::testing;

struct EventList {
  std::vector<ProvenanceEvent> events;
  std::vector<ResourceServers> servers;
};

inline Nanos Tenths(const std::string& text) {
  return static_cast<Nanos>(std::llround(std::stod(text) * 10));
}

inline std::vector<ProvenanceHold> ParseHolds(const std::string& text) {
  std::vector<ProvenanceHold> holds;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) {
    const size_t at = one.find('@');
    ProvenanceHold& hold = holds.emplace_back();
    hold.resource = one.substr(0, at);
    if (at != std::string::npos) hold.since_ns = Tenths(one.substr(at + 1));
  }
  return holds;
}

inline EventList ParseEvents(const std::string& text) {
  EventList list;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string type, id, node, times, word;
    if (!(in >> type >> id)) continue;
    if (type == "servers") {
      in >> word;
      list.servers.push_back({id, std::stoll(word)});
      continue;
    }
    in >> node >> times;
    ProvenanceEvent& e = list.events.emplace_back();
    e.id = id;
    e.type = ProvenanceTypeOfName(type).value();
    e.node = node;
    e.tuple = type == "SND" || type == "RCV" ? "+m(1)" : id;
    const size_t dots = times.find("..");
    e.start_ns = Tenths(times.substr(0, dots));
    e.end_ns = Tenths(times.substr(dots + 2));
    while (in >> word) {
      const size_t equals = word.find('=');
      const std::string key = word.substr(0, equals);
      const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
      if (word == "<") continue;
      if (equals == std::string::npos)
        e.causes.push_back(word);
      else if (key == "tuple")
        e.tuple = value;
      else if (key == "origin")
        e.origin = value;
      else if (key == "ready")
        e.ready_ns = Tenths(value);
      else if (key == "resource")
        e.holds = {{value, {}}};
      else if (key == "holds")
        e.holds = ParseHolds(value);
      else
        ADD_FAILURE() << "unknown " << word;
    }
  }
  return list;
}

inline Result<Execution> Build(const EventList& list, std::optional<Nanos> retain_from = {}) {
  ExecutionBuilder builder;
  for (const ResourceServers& servers : list.servers) WF_TRY(builder.Add(servers));
  for (const ProvenanceEvent& event : list.events) WF_TRY(builder.Add(event));
  if (retain_from) builder.RetainFrom(*retain_from);
  return builder.Finish();
}

inline std::string JsonLines(const EventList& list) {
  std::string text;
  for (const ResourceServers& servers : list.servers) AppendProvenanceLine(servers, text);
  for (const ProvenanceEvent& event : list.events) AppendProvenanceLine(event, text);
  return text;
}

// An explanation as lines, for comparing: vertices, then edges, then sizes.
inline std::string Shown(const Execution& x, const Explanation& explanation, ExplanationView view) {
  std::ostringstream out;
  const auto intervals = [&](const std::vector<Interval>& list) {
    for (const auto& [begin, end] : list) out << " " << begin << ".." << end;
  };
  out << "delay " << explanation.delay_ns << "\n";
  for (const ExplanationVertex& v : explanation.vertices) {
    const uint32_t first = v.members[0];
    out << x.str(x.id[first]) << " " << v.start_ns << ".." << v.end_ns << " delay " << v.delay_ns
        << " self " << v.self_ns << (v.functional ? " functional" : "")
        << (v.expired ? " expired" : "");
    if (v.members.size() > 1) {
      out << " members";
      for (const uint32_t e : v.members) out << " " << x.str(x.id[e]);
    } else {
      out << " over";
      intervals(v.intervals);
      out << " self";
      intervals(v.self_intervals);
    }
    out << "\n";
  }
  for (const ExplanationEdge& e : explanation.edges) {
    out << x.str(x.id[explanation.vertices[e.from].members[0]])
        << (e.kind == ExplanationEdgeKind::kCausal ? " -> " : " ~> ")
        << x.str(x.id[explanation.vertices[e.to].members[0]]);
    if (view != ExplanationView::kRaw) out << " " << e.delay_ns;
    out << "\n";
  }
  const ExplanationSizes& s = explanation.sizes;
  out << "sizes " << s.raw << " " << s.nonzero << " " << s.pruned << " " << s.aggregated << "\n";
  if (explanation.what_if)
    out << "what-if " << explanation.what_if->matched << " " << explanation.what_if->delay_ns
        << "\n";
  return out.str();
}

}  // namespace wf::provenance::testing
