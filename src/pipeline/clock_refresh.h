// Clocks of hosts: solved over the exchanges of all traces, window by window, kept in the store and applied on read,
// so that every trace sees one host's clock the same way.
#pragma once

#include <string>

#include "model/clock_alignment.h"
#include "model/event_batch.h"
#include "store/clock_store.h"

namespace wf::pipeline {

// Solves the windows that `time` touches and stores what changed. Continues from what is known before. To be called
// after an import (with the times of what was imported) and by a server now and then (with the last two windows).
Status RefreshClocks(store::ClockStore& store, const std::string& tenant, store::TimeRange time);

// The clocks that apply to these events. Refreshes first when a host of the events has none for their time yet, so
// that a trace can be read as soon as it is stored.
Result<HostClocks> ClocksFor(store::ClockStore& store, const std::string& tenant,
                             const EventBatch& events);

}  // namespace wf::pipeline
