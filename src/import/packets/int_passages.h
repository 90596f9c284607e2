// INT reports → passages: each hop that reports its times passed a queue.
//
// Reports are added in the order of their arrival. Sequence numbers (22 bits, of each reporting node's
// hardware) show which reports are missing. Thread safety: none.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/result.h"
#include "import/packets/int_report.h"
#include "import/packets/queue_passage.h"

namespace wf::packets {

// Gaps in the sequence numbers of one sender.
class IntSequence {
 public:
  enum class Step : uint8_t { kFirst, kNext, kGap, kLate, kRepeated };
  // kGap: `missed` reports are missing. kLate: a report that was missed, or a duplicate, arrived after later
  // ones.
  Step Take(uint32_t sequence, int64_t& missed);

 private:
  bool begun_ = false;
  uint32_t last_ = 0;
};

class IntPassages {
 public:
  explicit IntPassages(PacketPassages& out) : out_(out) {}

  // The payload of a datagram from `sender`. Malformed ones are counted; the part before the fault is used.
  void AddDatagram(std::string_view sender, std::string_view datagram);

  // Every INT report of a capture, from any port, or from `port` alone (0: any). Returns an error only if the
  // file cannot be read, in which case nothing was added, or if `progress` returns false.
  Status AddCapture(const std::string& path, uint16_t port, const CaptureProgress& progress = {});

 private:
  struct Packet {
    Hash128 id;
    uint32_t flow = 0;
  };
  void AddReport(const IntGroup& group, const IntReport& report);
  Packet PacketOf(const IntGroup& group, const IntReport& report);
  // False: the hop does not report its times.
  bool AddHop(const IntMetadata& hop, uint32_t node_id, uint32_t position, const Packet& packet);

  PacketPassages& out_;
  std::map<std::tuple<std::string, uint32_t, uint8_t>, IntSequence> sequences_;
  uint64_t unnamed_ = 0;  // packets that their report does not identify
};

}  // namespace wf::packets
