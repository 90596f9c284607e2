// For tests: several traces as lines of text (model/testdata/README.md), divided by "== ID", and what they become.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"
#include "analysis/provenance/trace_execution.h"
#include "model/event_lines.h"

namespace wf::testing {}

namespace wf::provenance::testing {

using namespace wf::testing;

class TraceCases {
 public:
  explicit TraceCases(const std::string& text) {
    std::istringstream lines(text);
    std::string part, line;
    uint64_t id = 1;
    const auto finish = [&] {
      if (part.find_first_not_of(" \n") == std::string::npos) return;
      auto& parsed = *parsed_.emplace_back(std::make_unique<EventLines>(part));
      std::fill(parsed.batch.trace_lo.begin(), parsed.batch.trace_lo.end(), id);
      for (uint32_t& name : parsed.batch.name) {  // lines hold no names with blanks
        std::string words(parsed.batch.str(name));
        std::replace(words.begin(), words.end(), '~', ' ');
        name = parsed.batch.strings.Intern(words);
      }
      traces_.push_back(BuildTrace(parsed.batch, parsed.options));
    };
    while (std::getline(lines, line)) {
      if (line.rfind("== ", 0) != 0) {
        part += line;
        // A span is named after its word, unless it says otherwise.
        if (line.rfind("span ", 0) == 0 && line.find(" name=") == std::string::npos)
          part += " name=" + line.substr(5, line.find(' ', 5) - 5);
        part += "\n";
        continue;
      }
      finish();
      part.clear();
      id = std::stoull(line.substr(3));
    }
    finish();
  }

  std::vector<const Trace*> traces() const {
    std::vector<const Trace*> out;
    for (const Trace& trace : traces_) out.push_back(&trace);
    return out;
  }
  Words& words(size_t trace) { return parsed_[trace]->words; }
  uint64_t Span(size_t trace, const std::string& word) { return parsed_[trace]->words.Id(word); }

 private:
  std::vector<std::unique_ptr<EventLines>> parsed_;
  std::deque<Trace> traces_;
};

inline Result<Execution> Build(const TraceExecution& made) {
  ExecutionBuilder builder;
  for (const ResourceServers& servers : made.servers) WF_TRY(builder.Add(servers));
  for (const ProvenanceEvent& event : made.events) WF_TRY(builder.Add(event));
  return builder.Finish();
}

// One line an event: "DRV storage 10..20 of cart#0 <- cart#send [ready 5] {workers of storage since 3}".
inline std::string Dump(const TraceExecution& made, TraceCases& cases) {
  const auto name = [&](const std::string& id) {
    const size_t colon = id.find(':');
    const auto trace = std::stoull(id.substr(0, colon), nullptr, 16);
    size_t index = 0;
    for (size_t i = 0; i < cases.traces().size(); ++i) {
      if (cases.traces()[i]->id.lo == trace) index = i;
    }
    const auto span = ParseSpanId(id.substr(colon + 1, 16))->value;
    return cases.words(index).Word(span) + "#" + id.substr(colon + 18);
  };
  std::string out;
  for (const ProvenanceEvent& e : made.events) {
    out += fmt::format("{} {} {}..{} {}", ProvenanceTypeName(e.type), e.node, e.start_ns, e.end_ns,
                       name(e.id));
    for (const std::string& cause : e.causes) out += " <-" + name(cause);
    if (e.ready_ns) out += fmt::format(" ready {}", *e.ready_ns);
    for (const ProvenanceHold& hold : *e.holds) {
      out += " {" + hold.resource;
      if (hold.since_ns) out += fmt::format(" since {}", *hold.since_ns);
      out += "}";
    }
    out += "\n";
  }
  return out;
}

struct Explained {
  Execution execution;
  Explanation explanation;

  // "12 storage scan of maintenance x3": self time of each kind of work, most first.
  std::string Blame() const {
    std::map<std::string, Nanos> parts;
    for (const ExplanationVertex& v : explanation.vertices) {
      const uint32_t e = v.members[0];
      if (v.self_ns == 0) continue;
      parts[fmt::format("{} {} of {}{}", execution.str(execution.node[e]),
                        execution.str(execution.name[e]), execution.str(execution.origin[e]),
                        v.functional ? "" : fmt::format(" x{}", v.members.size()))] += v.self_ns;
    }
    std::vector<std::pair<Nanos, std::string>> ranked;
    for (const auto& [what, ns] : parts) ranked.emplace_back(-ns, what);
    std::sort(ranked.begin(), ranked.end());
    std::string out;
    for (const auto& [ns, what] : ranked) out += fmt::format("{} {}\n", -ns, what);
    return out;
  }
};

// Explains a trace from its main root's start to its end.
inline Explained ExplainRoot(const TraceCases& cases, size_t trace,
                             TraceExecutionOptions options = {}) {
  const Trace& t = *cases.traces()[trace];
  const uint64_t root = t.blocks[t.main_root()].id;
  options.places = {{t.id, root, SpanSide::kStart, PlaceUse::kFrom},
                    {t.id, root, SpanSide::kEnd, PlaceUse::kTo}};
  const TraceExecution made = MakeTraceExecution(cases.traces(), options);
  auto built = Build(made);
  EXPECT_TRUE(built.ok()) << built.error().message;
  if (!built.ok()) return {};
  Explained out{std::move(*built), {}};
  ExplainOptions explain;
  explain.from = out.execution.Find(made.events[made.places[0]].id);
  explain.to = out.execution.Find(made.events[made.places[1]].id);
  auto explanation = Explain(out.execution, explain);
  EXPECT_TRUE(explanation.ok()) << explanation.error().message;
  if (explanation.ok()) out.explanation = std::move(*explanation);
  return out;
}

}  // namespace wf::provenance::testing
