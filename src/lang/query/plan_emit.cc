#include "lang/query/plan_emit.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lang/query/simulated_baggage.h"

namespace wf::query {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

using Reads = std::map<std::string, std::set<std::string>, std::less<>>;

Reads ReadsByTracepoint(const advice::Program& program) {
  Reads reads;
  for (const advice::Advice& advice : program.advice) {
    for (const std::string& tracepoint : advice.tracepoints) {
      std::set<std::string>& variables = reads[tracepoint];
      for (const advice::Step& step : advice.steps)
        if (const auto* observe = std::get_if<advice::Observe>(&step))
          variables.insert(observe->variables.begin(), observe->variables.end());
    }
  }
  return reads;
}

// What leaves the process: defaults as they are, and the exports that the query reads.
Event Emitted(const Event& event, const std::set<std::string>& variables) {
  Event emitted;
  emitted.id = event.id;
  emitted.tracepoint = event.tracepoint;
  emitted.time_ns = event.time_ns;
  emitted.host = event.host;
  emitted.proc = event.proc;
  emitted.pid = event.pid;
  for (const std::string& name : variables) {
    const auto found = event.variables.find(name);
    if (found != event.variables.end()) emitted.variables.insert(*found);
  }
  return emitted;
}

// The ids that the baggage of an event's predecessors carry, each once.
std::vector<uint32_t> IdsBefore(const Event& event, const std::vector<uint32_t>& carried) {
  std::vector<uint32_t> ids;
  for (const uint32_t before : event.after)
    if (carried[before] != kNone) ids.push_back(carried[before]);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

EmittedEvents EmitEvents(const advice::Program& program, const Execution& execution) {
  const Reads reads = ReadsByTracepoint(program);
  EmittedEvents emitted;
  std::vector<Event>& out = emitted.execution.events;
  std::vector<uint32_t> carried(execution.events.size(), kNone);
  for (const uint32_t index : execution.order) {
    if (program.sample &&
        !advice::Sampled(execution.request_ids[execution.request[index]], *program.sample))
      continue;
    const Event& event = execution.events[index];
    std::vector<uint32_t> before = IdsBefore(event, carried);
    const auto tracepoint = reads.find(event.tracepoint);
    if (tracepoint != reads.end()) {
      out.push_back(Emitted(event, tracepoint->second));
      ++emitted.tuples;
    } else if (before.size() > 1) {
      out.emplace_back();
    } else {
      carried[index] = before.empty() ? kNone : before[0];
      continue;
    }
    out.back().after = std::move(before);
    carried[index] = static_cast<uint32_t>(out.size() - 1);
  }
  // The instance's id is the causal id; it holds no slot.
  if (!out.empty()) emitted.baggage_bytes = BaggageBytes(kInstanceIdBytes + 1);
  uint32_t on_cycle = 0;
  (void)Arrange(emitted.execution, on_cycle);  // edges point back only: there is no cycle
  return emitted;
}

PlanRun RunEmitPlan(const advice::Program& program, const Execution& execution) {
  const EmittedEvents emitted = EmitEvents(program, execution);
  advice::Program collector = program;
  collector.sample.reset();  // whole requests were left out already
  PlanRun run = RunAdvicePlan(collector, emitted.execution);
  run.cost = {};
  run.cost.baggage_bytes_max = emitted.baggage_bytes;
  run.cost.emitted = emitted.tuples;
  return run;
}

}  // namespace wf::query
