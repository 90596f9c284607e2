// A complete execution: what happened, and what happened before what. Read from a file of events or made of stored
// traces; the reference evaluator and the simulated plans run queries over it.
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
  std::string id;  // of the whole execution only one bears it
  std::string tracepoint;
  int64_t time_ns = 0;
  advice::Value host, proc, pid;  // null if not told
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
  uint64_t unknown_after = 0;  // `after` ids that no event bears

  // Filled by Arrange.
  std::vector<uint32_t> order;           // every event behind all that happened before it
  std::vector<uint32_t> request;         // of each event: index into request_ids
  std::vector<std::string> request_ids;  // the least event id of each connected component, by bytes
};

// Fills what follows from events and their edges. False if the edges go round in a circle: `on_cycle` is then an event
// of it.
bool Arrange(Execution& execution, uint32_t& on_cycle);

// Drops edges that others imply, as many as can be seen in time linear in their number: what happened before what stays.
// Baggage is split along every edge, so where each of a long row of steps also points to the end of all, plans would
// take time quadratic in it. Of an execution that is arranged.
void DropImpliedEdges(Execution& execution);

}  // namespace wf::query
