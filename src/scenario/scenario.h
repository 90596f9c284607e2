// Scenarios: seeded simulations of systems with a problem, each with the question that an engineer would ask
// and the answer that the data must give. The same name, seed, size and settings give the same bytes on every
// machine.
//
// Every scenario has two populations, before and after. They are the same requests by the same users (draws.h); one
// input of the simulation differs, and with the fault off, none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::scenario {

struct ScenarioDescription {
  std::string_view name, description;
};
const std::vector<ScenarioDescription>& Scenarios();

// The time of the first request, unless given: a fixed instant (14 November 2026, 08:00 UTC), because the
// same seed gives the same bytes. Datasets thin out rows older than their retention; --start moves a scenario
// to today.
constexpr Nanos kScenarioStart = 1'794'643'200 * kSecond;

enum class Fault : uint8_t { kOn, kOff };

struct ScenarioOptions {
  std::string name;
  uint64_t seed = 1;
  // Requests in each population, 150 when absent; for R1 to R4, the number of servers, by default that of the
  // paper.
  std::optional<int64_t> size;
  Nanos start = kScenarioStart;
  Fault fault = Fault::kOn;
  std::string piece;  // page-load: the piece that gets more CSS; empty: UserInput
};

// Receives some of the lines of events.jsonl.
using LineSink = std::function<Status(std::string_view lines)>;

// Returns the text of query.json: the question, and under "truth" (R1 to R4: "culprit"), for tests, the answer.
Result<std::string> GenerateScenario(const ScenarioOptions& options, const LineSink& sink);

struct ScenarioFiles {
  std::string events, query;
  std::string recording;  // R1 to R4: what ndlog replay reads
  int64_t traces = 0;     // none for R1 to R4: their events are for explain --events
  int64_t event_lines = 0;
};
// Writes events.jsonl and query.json into `folder`, created if missing. Each file appears only when it is
// complete.
Result<ScenarioFiles> WriteScenario(const ScenarioOptions& options, const std::string& folder);

}  // namespace wf::scenario
