// TraceEvents: the events of one simulated trace, as instrumentation would have sent them (JSON lines, see
// src/import/events). Input times are by the true clock, in any order; output times are by the clock of the
// host that would have recorded them, in order, numbered within each unit. Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"

namespace wf::scenario {

struct SimulatedHost {
  std::string name;
  Nanos clock_offset = 0;  // its clock shows true time + offset
};

using Annotations = std::vector<std::pair<std::string, std::string>>;

class TraceEvents {
 public:
  // Times given below count from `start`.
  TraceEvents(TraceId trace, Nanos start) : trace_(trace), start_(start) {}

  uint64_t NewId();

  // The unit that `service` shows as `name`; `cause` is the block that started it, 0 if messages show it.
  uint64_t BeginUnit(const SimulatedHost& host, std::string_view service, std::string_view name,
                     Nanos at, uint64_t cause, Annotations more = {});
  void StartTrace(uint64_t unit, Nanos at, std::string_view owner);
  void EndUnit(uint64_t unit, Nanos at);
  uint64_t BeginBlock(uint64_t unit, std::string_view name, Nanos at, Annotations more = {});
  void EndBlock(uint64_t block, Nanos at, Annotations more = {});
  // A complete block with nothing inside.
  uint64_t Block(uint64_t unit, std::string_view name, Nanos from, Nanos until,
                 Annotations more = {});
  void Point(uint64_t block, std::string_view name, Nanos at, Annotations more);
  // An event of any other type: `id` in `block`.
  void Event(std::string_view type, uint64_t id, uint64_t block, Nanos at, Annotations more = {});

  // Appends the lines.
  void Write(std::string& lines) const;

 private:
  struct Pending {
    std::string_view type;  // one of the event types: static texts
    uint64_t id1, id2;
    size_t unit;  // the unit whose clock and numbers it uses
    Nanos at;
    Annotations annotations;
  };
  struct UnitHome {
    uint64_t id;
    Nanos clock_offset;
  };
  size_t UnitIndex(uint64_t unit) const;
  size_t HomeOf(uint64_t block) const;
  void Add(std::string_view type, uint64_t id1, uint64_t id2, size_t unit, Nanos at,
           Annotations annotations);

  TraceId trace_;
  Nanos start_;
  uint64_t last_id_ = 0;
  std::vector<UnitHome> units_;
  std::vector<std::pair<uint64_t, size_t>> block_homes_;  // block → index into units_
  std::vector<Pending> events_;
};

}  // namespace wf::scenario
