// FragmentJoiner: IP packets that were sent in fragments, put together again (RFC 791 §3.2, RFC 8200 §4.5).
//
// Fragments may come in any order and more than once; of bytes told twice, the first count. A packet is whole when its last
// fragment came: that is its time. Memory is bounded: what stays incomplete is given up after the time that hosts wait for
// it, or, the oldest first, when too much is held.
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
    Nanos patience = 30 * kSecond;  // as Linux waits
  };
  struct Counts {
    int64_t fragments = 0;  // met
    int64_t joined = 0;     // packets put together
    int64_t doubles = 0;    // fragments captured twice
    int64_t given_up = 0;   // fragments of packets that stayed incomplete
    int64_t malformed = 0;  // fragments that cannot be part of a packet
  };

  FragmentJoiner() : FragmentJoiner(Limits()) {}
  explicit FragmentJoiner(Limits limits) : limits_(limits) {}

  // True if `headers` tell of a whole packet: at once if it came whole; with a packet's last fragment they are filled with
  // what all its fragments say, and view bytes that are valid until the next call. `fault` is what DecodePacket found, and
  // what the whole packet's headers give.
  bool Join(PacketHeaders& headers, Nanos time_ns, PacketFault& fault);

  // What is still held counts as given up.
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
    std::string bytes;           // behind the IP headers; holes are zeros
    std::vector<Range> claimed;  // that fragments stood for, rising, not touching
    std::vector<Range> held;     // of which bytes were captured, the same way
    uint32_t length = 0;         // 0: the last fragment has not come
    int64_t fragments = 0;
    uint64_t number = 0;
    Nanos done_ns = 0;  // when it was whole, if it was; then kept a while to know doubles
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
  std::deque<Waiting> waiting_;  // by when they began
  size_t held_ = 0;
  uint64_t numbers_ = 0;
  std::string whole_;
  Counts counts_;
};

}  // namespace wf::pcap
