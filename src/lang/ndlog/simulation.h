// Runs a program on a network: a deterministic discrete-event simulation. The same program, network, inputs and seed
// give the same events at the same times on every machine.
//
// Each node processes one item at a time, in order of arrival. One item is one provenance event: a base tuple
// is inserted or deleted (INS, DEL), a rule derives a tuple or withdraws a derivation (DRV, UDRV), a message
// is sent or received (SND, RCV). Simultaneous items run by time, node name, arrival number.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lang/ndlog/network.h"
#include "lang/ndlog/program.h"
#include "lang/ndlog/recording.h"
#include "model/provenance_event.h"

namespace wf::ndlog {

struct RunOptions {
  uint64_t seed = 1;
  // Absent: until only expiries and endless clocks are left, and the last input has been processed.
  std::optional<Nanos> until;
  int64_t most_events = 20'000'000;       // more: the program is considered endless
  int64_t most_joins = 20'000'000;        // that one tuple may trigger in a rule
  int64_t most_matches = 1'000'000;       // ways in which one tuple may make a rule's body hold
  int64_t most_weight = 10'000'000;       // elements and characters one tuple may derive by a rule
  int64_t most_bytes = int64_t{4} << 30;  // approximate, for tuples, derivations and waiting items
  // Receives each event in the order of processing, with its causes. Without it, provenance is not tracked.
  std::function<Status(const ProvenanceEvent&)> provenance;
  std::vector<RecordedEvent>* record = nullptr;  // appended to
  // Durations are read from here; a difference is an error.
  const std::vector<RecordedEvent>* replay = nullptr;
};

struct RunResult {
  std::map<std::string, std::vector<std::string>> tables;  // name → tuples of all nodes, sorted
  int64_t events = 0;
  Nanos end = 0;  // of the last event
  // Inputs without effect, by name, for the user.
  int64_t deletes_of_nothing = 0;
  int64_t evicted = 0, expired = 0, replaced = 0;
};

Result<RunResult> Run(const Program& program, const Network& network,
                      const std::vector<Input>& inputs, const RunOptions& options);

// Program, network and inputs as texts; `*_name` for errors.
struct RunTexts {
  std::string program, topology, inputs;
  std::string program_name = "program", topology_name = "topology", inputs_name = "inputs";
};
Result<RunResult> RunFromTexts(const RunTexts& texts, const RunOptions& options);
// Runs the recording again. BadInput, naming the event, if the run differs from it.
Result<RunResult> Replay(const Recording& recording,
                         std::function<Status(const ProvenanceEvent&)> provenance);

}  // namespace wf::ndlog
