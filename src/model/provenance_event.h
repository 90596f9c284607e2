// A provenance event: one thing a node did, when, and because of what (Zeno §3.3). Front ends (traces, NDlog, packets)
// make these; src/analysis/provenance explains delays with them. On file they are JSON lines; docs/concepts/temporal-provenance.md says how.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"

namespace wf {

enum class ProvenanceType : uint8_t {
  kInsert,    // INS: a base tuple was inserted
  kDelete,    // DEL: a base tuple was deleted
  kDerive,    // DRV: a derived tuple gained support
  kUnderive,  // UDRV: a derived tuple lost support
  kSend,      // SND
  kReceive,   // RCV
};
std::string_view ProvenanceTypeName(ProvenanceType type);  // "INS" ...
std::optional<ProvenanceType> ProvenanceTypeOfName(std::string_view name);

// It holds `resource` from since_ns (absent: its start) to its end.
struct ProvenanceHold {
  std::string resource;
  std::optional<Nanos> since_ns;
};

struct ProvenanceEvent {
  std::string id;
  ProvenanceType type = ProvenanceType::kInsert;
  std::string node, tuple;
  Nanos start_ns = 0, end_ns = 0;
  std::vector<std::string> causes;                   // ids
  std::string rule, peer, origin;                    // empty: not given
  std::optional<Nanos> ready_ns;                     // absent: follows from the type and the causes
  std::optional<std::vector<ProvenanceHold>> holds;  // absent: its node
};

// How many may hold a resource at once; 1 unless given.
struct ResourceServers {
  std::string resource;
  int64_t servers = 1;
};

// One JSON line each, newline included.
void AppendProvenanceLine(const ProvenanceEvent& event, std::string& out);
void AppendProvenanceLine(const ResourceServers& servers, std::string& out);

}  // namespace wf
