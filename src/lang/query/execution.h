// A complete execution: what happened, and what happened before what. Read from a file of events or made from
// stored traces; the reference evaluator and the simulated plans run queries over it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advice/value.h"
#include "base/result.h"

namespace wf::query {

struct Event {
  std::string id;  // unique in the execution
  std::string tracepoint;
  int64_t time_ns = 0;
  advice::Value host, proc, pid;  // null if unknown
  // Events that happened directly before this one: indices into Execution::events, each once.
  std::vector<uint32_t> after;
  // Exports by name: scalars, or lists of scalars. Never one of the defaults.
  std::map<std::string, advice::Value, std::less<>> variables;

  // host, time, procName, procId, tracepoint, or an export; null if there is none.
  advice::Value Variable(std::string_view name) const;
};

bool IsDefaultVariable(std::string_view name);

struct Execution {
  std::vector<Event> events;
  uint64_t unknown_after = 0;  // `after` ids without an event

  // Filled by Arrange.
  std::vector<uint32_t> order;           // every event after all that happened before it
  std::vector<uint32_t> request;         // per event: index into request_ids
  std::vector<std::string> request_ids;  // the least event id of each connected component, by bytes
};

// Fills what follows from events and their edges. False if the edges form a cycle: `on_cycle` is then an
// event on it.
bool Arrange(Execution& execution, uint32_t& on_cycle);

// Drops edges that others imply, as far as this takes time linear in their number; the happened-before order
// does not change. Baggage is split along every edge, so if each step of a long row also pointed to the very
// end, plans would take quadratic time. The execution must be arranged.
void DropImpliedEdges(Execution& execution);

}  // namespace wf::query
