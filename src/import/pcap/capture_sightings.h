// CaptureSightings: the messages of a packet capture, as sightings.
//
// Packets → connections (TcpConnection) → messages of a protocol (Dialogue) → sightings. A capture shows each
// message once, by the clock of the capturing machine: plain CALL, RET and MSG. Nodes are addresses, or named
// by NodeNames. Ids are the ports and the sequence number of a request's first byte, so that another capture
// of the same connection gives the same ids. Keys: conn= (the flow, from client to server), proto=, bytes=.
//
// Lines come at most 8 s after their own time, so that --reorder's default sorts them. Memory is bounded:
// idle connections are dropped when there are too many, and held bytes are given up.
//
// Thread safety: none. `nodes` must outlive it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/pcap/capture_counts.h"
#include "import/pcap/node_names.h"
#include "model/sighting.h"

namespace wf::pcap {

struct CaptureSightingOptions {
  NodeNames names;
  // Names addresses without a name by the DNS answers in the capture. The capture is then read twice.
  enum class DnsNames : uint8_t { kIgnore, kUse } dns_names = DnsNames::kIgnore;
  uint32_t input = 1;                 // place on the command line, for Place
  size_t most_held_bytes = 64 << 20;  // of all connections, waiting for missing bytes
  size_t most_connections = 1 << 17;  // about 200 MB if all are open
};

class CaptureSightings : public SightingSource {
 public:
  // kEnvironment: cannot be read; kBadInput: not a supported capture.
  static Result<std::unique_ptr<CaptureSightings>> Open(const std::string& path,
                                                        const CaptureSightingOptions& options,
                                                        StringTable& nodes);
  // `bytes` must outlive it; `name` is for errors.
  static Result<std::unique_ptr<CaptureSightings>> OpenBytes(std::string_view bytes,
                                                             const std::string& name,
                                                             const CaptureSightingOptions& options,
                                                             StringTable& nodes);
  ~CaptureSightings() override;

  Result<bool> Next(SightingLine& line) override;

  // Counts so far; complete once Next has returned false.
  CaptureCounts counts() const;
  std::vector<CaptureCount> Counts() const { return NamedCounts(counts()); }

 private:
  class Impl;
  explicit CaptureSightings(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::pcap
