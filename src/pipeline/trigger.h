// Triggers: which events show that a trace will be ready, and when (Canopy §4.2 "Handling Events"). A trigger
// is a pattern on an event and a timeout; every event of every trace is matched, several triggers may match,
// and each is scheduled once per trace until it has fired.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "model/event_batch.h"

namespace wf::pipeline {

constexpr size_t kMaxTriggers = 8;  // one bit each in a trace's cache entry

// Written "NAME TIMEOUT after first|last [within DURATION] [limit DURATION] [when KEY=VALUE]":
//   live 10s after last within 60s
//   browser 10m after first when service=browser*
//   build 1d after first limit 7d when build.system=*
// KEY: service, host, name, type, kind, or an attribute of the event or of its process. VALUE may hold `*`.
struct Trigger {
  enum class Since : uint8_t { kFirst, kLast };
  std::string name;
  Nanos timeout = 0;
  Since since = Since::kLast;   // of the matching events: the first or the last
  std::optional<Nanos> within;  // kLast: at most this long after the first
  Nanos limit = kDay;           // a matching trace is rejected when it lasts longer
  std::string key, value;       // key empty: every event
  bool operator==(const Trigger&) const = default;

  // When a trace is ready if its matching events came from `first` to `last`.
  Nanos ReadyAt(Nanos first, Nanos last) const;
};

Result<Trigger> ParseTrigger(std::string_view text);
std::string TriggerText(const Trigger& trigger);

// The shipped defaults, for live traffic. The paper's are in config/canopy.yaml.
std::vector<Trigger> DefaultTriggers();

// Matches the events of one batch; conditions on the process are evaluated once per process. Borrows both
// arguments. Thread safety: none.
class TriggerMatcher {
 public:
  TriggerMatcher(const std::vector<Trigger>& triggers, const EventBatch& batch);
  uint32_t Match(size_t row);  // a bit for each trigger that matches

 private:
  bool MatchesRow(const Trigger& trigger, size_t row) const;
  uint32_t MatchProcess(uint32_t process) const;

  const std::vector<Trigger>& triggers_;
  const EventBatch& batch_;
  uint32_t always_ = 0;                 // no pattern
  uint32_t by_process_ = 0;             // decided, or perhaps decided, by the process
  uint32_t by_row_ = 0;                 // must check the event
  std::vector<uint32_t> process_bits_;  // + kKnown once found
};

}  // namespace wf::pipeline
