// A batch for tests of buses: a row for each (trace, span), with an attribute `text` when there is one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/event_batch.h"

namespace wf::bus {

inline EventBatch BusBatch(const std::vector<std::pair<uint64_t, uint64_t>>& trace_and_span,
                           const std::string& text = "") {
  EventBatch batch;
  batch.processes.push_back({batch.strings.Intern("shop"), batch.strings.Intern("host"), 0, 0});
  batch.scopes.push_back({});
  for (const auto& [trace, span] : trace_and_span) {
    batch.AddRow();
    batch.trace_hi.back() = 7;
    batch.trace_lo.back() = trace;
    batch.id1.back() = span;
    batch.marks.back() = kHasStart | kHasEnd;
    batch.name.back() = batch.strings.Intern("op" + std::to_string(span % 5));
    if (!text.empty()) {
      PutVarint(batch.strings.Intern("text"), batch.bytes);
      PutString(text, batch.bytes);
      batch.EndAttributes();
    }
  }
  return batch;
}

}  // namespace wf::bus
