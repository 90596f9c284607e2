// EgressStamps: when each packet came to an interface's queue, before it waited there. A capture on the
// interface sees packets when they leave the queue; together they show what the queue did
// (docs/use/packets.md).
//
// Packets are neither delayed nor changed. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::watch {

struct StampedPacket {
  Nanos time = 0;          // Unix ns
  uint32_t length = 0;     // on the wire; `bytes` may be shorter
  std::string_view bytes;  // from the link layer's header on; valid during the call
};

struct EgressStampOptions {
  std::string interface;  // in this network namespace
  // A frame without segmentation offload is at most 1,514 bytes long: so packets are whole, and all of their
  // bytes can be hashed to match them with a capture.
  uint32_t snap_bytes = 1520;
};

class EgressStamps {
 public:
  using Take = std::function<void(const StampedPacket&)>;
  static Result<std::unique_ptr<EgressStamps>> Attach(const EgressStampOptions& options, Take take);
  virtual ~EgressStamps() = default;

  // Passes on the packets since the last call, in order; if there are none, waits up to `milliseconds` and
  // passes on what came.
  virtual Status Poll(int milliseconds) = 0;
  virtual uint64_t dropped() const = 0;  // we read too slowly: sent, but not reported
};

// A capture file (pcap, nanoseconds, Ethernet) of such packets.
std::string PcapHeader(uint32_t snap_bytes);
void AppendPcapPacket(const StampedPacket& packet, std::string& out);

}  // namespace wf::watch
