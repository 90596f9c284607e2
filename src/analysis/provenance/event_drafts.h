// Drafts: provenance events of traces while they are put together, told by index. SettleDrafts makes them an execution:
// a cause that contradicts the times goes (counted), and who has no cause left becomes an input.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/provenance_event.h"

namespace wf::provenance {

enum class DraftRole : uint8_t { kSegment, kInput, kSend, kReceive, kReply, kAnswer };

struct DraftHold {
  uint32_t resource = 0;
  Nanos since = 0;
};

struct Draft {
  ProvenanceType type = ProvenanceType::kDerive;
  DraftRole role = DraftRole::kSegment;
  uint32_t trace = 0;
  uint32_t block = 0;   // whose work it is
  uint32_t about = 0;   // SND, RCV: the block that is called; else `block`
  uint32_t serial = 0;  // of a segment, within its block
  Nanos start = 0, end = 0;
  std::vector<uint32_t> causes;
  std::optional<Nanos> ready;
  std::vector<DraftHold> holds;
};

// The order in which they are to be added: by time, causes before effects where times are equal. Drops the causes that
// are not before their effects, and returns how many.
struct SettledOrder {
  std::vector<uint32_t> order;
  int64_t causes_dropped = 0;
};
SettledOrder SettleDrafts(std::vector<Draft>& drafts);

// A hold of no length that begins while all servers are taken cannot be: two stamps were equal. Drops these, and returns
// how many. `servers`: of each resource, at least as many as hold it at once for some time.
int64_t FitHolds(std::vector<Draft>& drafts, const std::vector<uint32_t>& order,
                 const std::vector<int64_t>& servers);

}  // namespace wf::provenance
