#include "weaver/woven_maps.h"

namespace wf::weaver {

Result<WovenMaps> WovenMaps::Create(uint32_t ring_bytes) {
  WovenMaps maps;
  WF_ASSIGN(maps.counters,
            BpfMap::Create("wf_counters",
                           {BpfMapType::kArray, 4, static_cast<uint32_t>(Counter::kCount) * 8, 1}));
  WF_ASSIGN(maps.control,
            BpfMap::Create("wf_control", {BpfMapType::kArray, 4, sizeof(Control), 1}));
  WF_ASSIGN(maps.ring, BpfMap::Create("wf_events", {BpfMapType::kRing, 0, 0, ring_bytes}));
  WF_ASSIGN(maps.verdicts, BpfMap::Create("wf_verdicts", {BpfMapType::kRecentHash,
                                                          sizeof(VerdictKey), 4, 1 << 13}));
  WF_ASSIGN(maps.names,
            BpfMap::Create("wf_names", {BpfMapType::kRecentHash, 8, kThreadNameBytes, 1 << 13}));
  return maps;
}

}  // namespace wf::weaver
