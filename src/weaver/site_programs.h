// Which programs a located tracepoint needs: sites that read the same values in the same way share one
// program, and with it one link.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weaver/event_record.h"
#include "weaver/probe_site.h"

namespace wf::weaver {

struct SitePlace {
  std::string file, function, instruction;
  uint64_t offset = 0;
  CostClass cost = CostClass::kStepped;
};

struct SiteProgram {
  SiteKind kind = SiteKind::kEntry;
  bool happens = true;
  Recipe frame;
  std::vector<ValueRead> values;   // by export; those that are not observed are kUnknown
  std::optional<uint32_t> filter;  // of processes
  std::vector<SitePlace> places;
};

// Programs whose records have one layout: they share the data of calls, and the groups.
struct SiteGroup {
  RecordLayout layout;
  bool calls = false;       // entry and end are matched
  bool exceptions = false;  // ... and ends by exceptions are reported
  std::vector<SiteProgram> programs;
};

// `filter`: whether sites in a function must check which process runs them. `wanted`: names that advice
// observes; those that are not exports are left out.
using ProcessFilter = std::function<std::optional<uint32_t>(const LocatedFunction&)>;
std::vector<SiteGroup> PlanSites(const LocatedTracepoint& located,
                                 const std::vector<std::string>& wanted, uint32_t string_bytes,
                                 const ProcessFilter& filter);

}  // namespace wf::weaver
