#include "weaver/woven_maps.h"

namespace wf::weaver {

Result<WovenMaps> WovenMaps::Create(uint32_t ring_bytes) {
  WovenMaps maps;
  WF_ASSIGN(maps.counters,
            bpf::BpfMap::Create("wf_counters", {bpf::BpfMapType::kArray, 4,
                                                static_cast<uint32_t>(Counter::kCount) * 8, 1}));
  WF_ASSIGN(maps.control,
            bpf::BpfMap::Create("wf_control", {bpf::BpfMapType::kArray, 4, sizeof(Control), 1}));
  WF_ASSIGN(maps.ring,
            bpf::BpfMap::Create("wf_events", {bpf::BpfMapType::kRing, 0, 0, ring_bytes}));
  WF_ASSIGN(maps.verdicts, bpf::BpfMap::Create("wf_verdicts", {bpf::BpfMapType::kRecentHash,
                                                               sizeof(VerdictKey), 4, 1 << 13}));
  WF_ASSIGN(maps.names, bpf::BpfMap::Create("wf_names", {bpf::BpfMapType::kRecentHash, 8,
                                                         kThreadNameBytes, 1 << 13}));
  return maps;
}

}  // namespace wf::weaver
