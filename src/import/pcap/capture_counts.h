// Counts, by name, of what was found between a capture's packets and its messages.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace wf::pcap {

struct CaptureCounts {
  // The file.
  int64_t packets = 0, truncated_files = 0, corrupt_bytes = 0, unread_links = 0, without_time = 0;
  int64_t dropped_by_capture = 0;
  // Packets.
  int64_t not_ip = 0, truncated_packets = 0, malformed_packets = 0;
  int64_t fragments = 0, joined = 0, fragments_alone = 0;
  int64_t other_protocols = 0, cut_packets = 0, doubles = 0;
  // Connections.
  int64_t connections = 0, mid_stream = 0, ports_reused = 0, forgotten = 0, dropped_held = 0;
  int64_t retransmitted = 0, out_of_order = 0, gaps = 0, gap_bytes = 0, resynchronised = 0;
  // Protocols, by connection or, without one, by datagram.
  int64_t http1 = 0, http2 = 0, grpc = 0, redis = 0, postgresql = 0, mysql = 0, kafka = 0, dns = 0;
  int64_t tls = 0, unknown = 0, not_as_begun = 0, hpack_mid_stream = 0, role_unknown = 0;
  // Messages.
  int64_t calls = 0, returns = 0, messages = 0, control = 0, unmatched_returns = 0, cancelled = 0;
};

struct CaptureCount {
  std::string_view name, meaning;
  int64_t value = 0;
};

// All counts in a fixed order, zeros included.
std::vector<CaptureCount> NamedCounts(const CaptureCounts& counts);

}  // namespace wf::pcap
