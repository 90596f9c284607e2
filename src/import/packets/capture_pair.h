// Two captures, where packets enter a switch and where they leave one of its queues → passages.
//
// A packet is recognised by its 5-tuple, IP id (with the offset, if it is a fragment), TCP's sequence number
// and a hash of its payload; packets that agree in all of these are matched in order. Fields that routers
// change (hop limit, checksums) are not compared; address translation between the two places is not undone.
// Later fragments, which have no transport header, get the ports of the first.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/packets/queue_passage.h"

namespace wf::packets {

struct CapturePair {
  QueueName queue;
  std::vector<std::string> before;  // one per way in; several where several ports feed it
  std::string after;
};

// All pairs of one question at once: payloads are compared only as far as every capture holds them, because
// otherwise a packet would not be recognised from one queue to the next. Linux cooked captures hold both
// directions: incoming packets count as before, outgoing ones as after. `progress` receives the bytes of all
// files together.
Status AddCapturePairs(const std::vector<CapturePair>& pairs, PacketPassages& out,
                       const CaptureProgress& progress = {});

// One packet at one of the two places, for callers that capture themselves.
struct SightedPacket {
  Nanos time_ns = 0;
  Hash128 content;
  uint32_t flow = 0;
};
// Both are in order of time.
void MatchSightings(const QueueName& queue, const std::vector<SightedPacket>& before,
                    const std::vector<SightedPacket>& after, PacketPassages& out);

// Remembers first fragments, so that later ones find their ports.
class PacketSighter {
 public:
  // Payloads are compared up to `payload_limit` bytes: captures may be cut at different lengths.
  PacketSighter(PacketPassages& out, size_t payload_limit)
      : out_(out), payload_limit_(payload_limit) {}
  SightedPacket Sight(Nanos time_ns, const pcap::PacketHeaders& headers);

 private:
  PacketPassages& out_;
  size_t payload_limit_;
  std::map<std::pair<Hash128, uint32_t>, pcap::FiveTuple> first_fragments_;
};

}  // namespace wf::packets
