// Drafts: provenance events of traces while they are assembled, identified by index. SettleDrafts makes an
// execution of them: a cause that contradicts the times is dropped (counted), and an event without remaining
// causes becomes an input.
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
  uint32_t block = 0;   // the block that does the work
  uint32_t about = 0;   // SND, RCV: the called block; else `block`
  uint32_t serial = 0;  // number of a segment within its block
  Nanos start = 0, end = 0;
  std::vector<uint32_t> causes;
  std::optional<Nanos> ready;
  std::vector<DraftHold> holds;
};

// The order in which drafts are added: by time, causes before effects where times are equal. Drops causes
// that are not before their effects, and returns how many.
struct SettledOrder {
  std::vector<uint32_t> order;
  int64_t causes_dropped = 0;
};
SettledOrder SettleDrafts(std::vector<Draft>& drafts);

// A hold of zero length that begins while all servers are taken is impossible: two time stamps were equal.
// Drops such holds, and returns how many. `servers`: for each resource, at least as many as hold it at the
// same time for longer than zero.
int64_t FitHolds(std::vector<Draft>& drafts, const std::vector<uint32_t>& order,
                 const std::vector<int64_t>& servers);

}  // namespace wf::provenance
