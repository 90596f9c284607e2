// EventHome: the process an event happened in. Spans and units say it themselves; other events usually do not, so
// theirs is that of the block or unit they name. Built over all rows of one trace, of which earlier ones count more;
// borrows the batch.
#pragma once

#include "model/event_batch.h"
#include "model/id_map.h"

namespace wf {

class EventHome {
 public:
  EventHome(const EventBatch& batch, const uint32_t* rows, size_t count);

  // Index into batch.processes.
  uint32_t ProcessOf(uint32_t row) const {
    const uint32_t own = batch_.process[row];
    if (batch_.type[row] == EventType::kSpan || Named(own)) return own;
    const uint32_t home = home_.Find(PlaceOf(row));
    return home == kNone ? own : home;
  }

 private:
  bool Named(uint32_t process) const {
    return batch_.processes[process].service != 0 || batch_.processes[process].host != 0;
  }
  // The unit or block that shows where an event happened.
  uint64_t PlaceOf(uint32_t row) const {
    switch (batch_.type[row]) {
      case EventType::kUnitBegin:
      case EventType::kUnitEnd:
      case EventType::kTraceStart:
      case EventType::kAnnotate:
        return batch_.id1[row];
      case EventType::kRpcServerReceive:
      case EventType::kRpcServerSend:
        return batch_.id2[row] != 0 ? batch_.id2[row] : batch_.id1[row];
      default:
        return batch_.id2[row];
    }
  }

  const EventBatch& batch_;
  IdMap home_;  // unit or block id → process
};

}  // namespace wf
