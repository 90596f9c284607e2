// QueuePassage: one packet passed one queue. INT reports and pairs of captures both become passages, from
// which events are made (packet_events.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "base/nanos.h"
#include "base/result.h"
#include "import/pcap/packet.h"

namespace wf::packets {

struct QueueName {
  std::string node, port, queue;  // switch, outgoing port, queue of the port
  bool operator==(const QueueName&) const = default;
  bool operator<(const QueueName& o) const {
    return std::tie(node, port, queue) < std::tie(o.node, o.port, o.queue);
  }
  std::string text() const { return node + "/" + port + "/" + queue; }
};

struct QueuePassage {
  uint32_t queue = 0, flow = 0;  // indexes in PacketPassages
  Hash128 packet;                // the same wherever the packet was seen
  Nanos ingress_ns = 0, egress_ns = 0;
  // The number of the hop on the packet's way, from 1, if an INT stack shows it; 0: only the times order the
  // hops.
  uint32_t position = 0;
};

struct PassageFlow {
  std::string name;    // FlowName
  std::string source;  // the sending host
};

// All passages of one run. `counts` counts what was read, left out and repaired, by name.
struct PacketPassages {
  std::vector<QueueName> queues;
  std::vector<PassageFlow> flows;
  std::vector<QueuePassage> passages;
  std::map<std::string, int64_t> counts;

  uint32_t QueueIndex(const QueueName& name);
  uint32_t FlowIndex(const pcap::FiveTuple& flow);
  uint32_t UnknownFlow();
  // Packets that are equal in everything compared are numbered: the first, second, … at this place. In a
  // queue that keeps the order, the n-th to enter is the n-th to leave. `place` names the observer.
  Hash128 PacketId(const Hash128& content, const Hash128& place);
  void Count(std::string_view name, int64_t n = 1) { counts[std::string(name)] += n; }

 private:
  std::map<QueueName, uint32_t> queue_index_;
  std::map<std::string, uint32_t> flow_index_;
  std::map<std::pair<Hash128, Hash128>, uint32_t> seen_;
};

// Size of the header before each packet in a capture file.
constexpr size_t kCaptureRecordHeader = 16;

// Receives from time to time how many bytes of a file were read; returns false to stop. Stopping is then the
// caller's error.
using CaptureProgress = std::function<bool(size_t bytes)>;
Error CaptureStopped();

// Identifies a packet by its 5-tuple, IP id and TCP sequence number, and by a hash of its payload or whatever
// else is given.
Hash128 PacketContent(const pcap::PacketHeaders& headers, uint64_t payload_hash);

}  // namespace wf::packets
