// FragmentJoiner: joins IP packets that were sent in fragments (RFC 791 §3.2, RFC 8200 §4.5).
//
// Fragments may come in any order and more than once; where they overlap, the first bytes count. A packet is
// complete when its last missing fragment came, and that is its time. Memory is bounded: incomplete packets
// are dropped after the time that hosts wait for them, or, the oldest first, when too much is held.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/pcap/packet_decoder.h"

namespace wf::pcap {

class FragmentJoiner {
 public:
  struct Limits {
    size_t most_bytes = 4 << 20;    // held, of all packets
    Nanos patience = 30 * kSecond;  // as long as Linux waits
  };
  struct Counts {
    int64_t fragments = 0;  // seen
    int64_t joined = 0;     // packets put together
    int64_t doubles = 0;    // fragments captured twice
    int64_t given_up = 0;   // fragments of packets that stayed incomplete, dropped
    int64_t malformed = 0;  // fragments that cannot be part of a packet
  };

  FragmentJoiner() : FragmentJoiner(Limits()) {}
  explicit FragmentJoiner(Limits limits) : limits_(limits) {}

  // True if `headers` describe a complete packet: at once if it was not fragmented; with a packet's last
  // fragment they are filled from all its fragments, and view bytes that are valid until the next call.
  // `fault` is the result of DecodePacket on input, and that of the complete packet's headers on output.
  bool Join(PacketHeaders& headers, Nanos time_ns, PacketFault& fault);

  // Fragments still held count as given up.
  Counts counts() const;

 private:
  struct Key {
    IpAddress source, destination;
    uint32_t ip_id = 0;
    uint8_t protocol = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Range {
    uint32_t from = 0, to = 0;
  };
  struct Packet {
    std::string bytes;           // after the IP headers; holes are zeros
    std::vector<Range> claimed;  // ranges that fragments covered, rising, not touching
    std::vector<Range> held;     // ranges whose bytes were captured, likewise
    uint32_t length = 0;         // 0: the last fragment has not come
    int64_t fragments = 0;
    uint64_t number = 0;
    Nanos done_ns = 0;  // when it was complete; then kept for a while to recognise duplicates
  };
  struct Waiting {
    Key key;
    uint64_t number = 0;
    Nanos since = 0;
  };

  static bool Cover(std::vector<Range>& ranges, Range range);
  void GiveUp(const Waiting& waiting);
  void MakeRoom(Nanos time_ns);

  Limits limits_;
  std::unordered_map<Key, Packet, KeyHash> packets_;
  std::deque<Waiting> waiting_;  // in the order they began
  size_t held_ = 0;
  uint64_t numbers_ = 0;
  std::string whole_;
  Counts counts_;
};

}  // namespace wf::pcap
