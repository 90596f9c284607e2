// What a run saves so that it can be replayed exactly: program, network, inputs, and the time and duration of
// every event (Zeno §6: inputs alone would not give the same times). No provenance: a replay creates it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "model/provenance_event.h"

namespace wf::ndlog {

struct RecordedEvent {
  uint32_t node = 0;
  ProvenanceType type = ProvenanceType::kInsert;
  uint32_t tuple = 0;  // a hash of it, for the comparison
  Nanos start = 0, duration = 0;
  Nanos transit = 0;  // of a message: from the end of sending to arrival
};

struct Recording {
  std::string program, topology, inputs;  // the texts
  uint64_t seed = 1;
  std::optional<Nanos> until;
  std::vector<RecordedEvent> events;  // in the order they happened
};

// JSON lines: one with the texts, then one array per event.
std::string WriteRecording(const Recording& recording);
Result<Recording> ReadRecording(std::string_view text, std::string_view file);

}  // namespace wf::ndlog
