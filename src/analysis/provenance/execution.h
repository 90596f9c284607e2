// Execution: everything that is known to have run, ready for queries. Columns with one entry per event, in
// order of time: start, then end, then order of addition. Events are identified by their index.
//
// Thread safety: read-only once built.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/provenance/event_texts.h"
#include "base/result.h"
#include "model/provenance_event.h"

namespace wf::provenance {

struct Hold {
  uint32_t resource = 0;  // index in Execution::resource_name
  uint32_t server = 0;    // which of its servers, computed when the execution is built
  Nanos since_ns = 0;
};

struct Execution {
  EventTexts strings;
  std::vector<ProvenanceType> type;
  // In strings; name: of the tuple, before "(".
  std::vector<uint32_t> id, node, tuple, name, rule, peer, origin;
  std::vector<Nanos> start_ns, end_ns;
  std::vector<Nanos> ready_ns;   // as reported, else derived as the contract says
  std::vector<bool> ready_told;  // INS, DEL, RCV without a reported time never wait for a resource
  std::vector<bool> lost_cause;  // a cause is beyond the retention
  // There may be one; empty: MarkLostPredecessors was not called.
  std::vector<bool> lost_predecessor;
  // Events; of e: causes[causes_begin[e], causes_begin[e + 1]).
  std::vector<uint32_t> causes_begin, causes;
  std::vector<uint32_t> holds_begin;
  std::vector<Hold> holds;
  std::vector<uint32_t> resource_name;  // in strings
  std::vector<uint32_t> servers;        // of each resource

  // The holders of each server, one after another. A lane is a server that was ever taken; those of resource
  // r begin at lanes_begin[r]. The occupants of a lane are holds; their events are in order of time, and each
  // ends no later than the next one's since_ns.
  std::vector<uint32_t> lanes_begin, occupants_begin, occupants;
  std::vector<uint32_t> holder, turn;  // of each hold: its event, its index in occupants

  std::vector<uint32_t> event_of_id;                       // by code in strings
  std::vector<std::pair<uint32_t, uint32_t>> lost_causes;  // event, id in strings; in order

  size_t size() const { return type.size(); }
  std::string_view str(uint32_t code) const { return strings.At(code); }
  uint32_t Find(std::string_view id) const;  // kNoEvent if there is none
  uint32_t lane(const Hold& hold) const { return lanes_begin[hold.resource] + hold.server; }
};
constexpr uint32_t kNoEvent = UINT32_MAX;

// Accepts events in any order; Finish sorts and checks them.
class ExecutionBuilder {
 public:
  ExecutionBuilder();
  ~ExecutionBuilder();
  // `place` names the event in an error ("line 12"); empty: its id alone does.
  Status Add(const ProvenanceEvent& event, std::string_view place = {});
  Status Add(const ResourceServers& servers);
  // Events that end before this time, and unknown causes, count as deleted by retention; events that lost a
  // cause are marked.
  void RetainFrom(Nanos time);
  // Rejects duplicate ids, unknown causes, impossible times or causes, and more occupants than servers.
  Result<Execution> Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Marks events that may have had a predecessor among those that ended before `retained_from`.
void MarkLostPredecessors(Execution& execution, Nanos retained_from);

// JSON lines, as docs/concepts/temporal-provenance.md describes them. `name` is the file's, for errors.
Result<Execution> ReadExecution(std::string_view text, std::string_view name,
                                std::optional<Nanos> retain_from = {});

}  // namespace wf::provenance
