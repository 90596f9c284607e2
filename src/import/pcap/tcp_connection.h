// TcpConnection: one TCP connection's segments as captured → its two byte streams in order, with missing
// bytes reported.
//
// A segment is passed on when all earlier bytes have been, those of its own end and, by its acknowledgement,
// those of the other: so a reply never comes before its request, however the capture shuffled them. Other
// segments are copied and held. When too much is held, or for too long, or nothing more comes, the earliest
// missing bytes become a gap: they were on the wire, because they were acknowledged or overtaken, but not
// captured.
//
// Sequence numbers wrap; all comparisons are of differences. Thread safety: none.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "import/pcap/conversation.h"
#include "import/pcap/packet.h"

namespace wf::pcap {

struct TcpSegment {
  Nanos time_ns = 0;
  uint32_t sequence = 0, acknowledgement = 0;
  uint32_t length = 0;  // of the payload as sent; the capture may hold less
  uint32_t ip_id = 0;
  uint8_t flags = 0;
  std::string_view payload;
};

class TcpConnection {
 public:
  // `context` must outlive it.
  explicit TcpConnection(DialogueContext& context) : context_(context), conversation_(context) {}
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  void Receive(End from, const TcpSegment& segment);
  // Whether this SYN begins another connection over the same ports.
  bool IsAnother(End from, const TcpSegment& syn) const;
  // No packets came for a while: gives up missing bytes.
  void Quiet();
  // The capture ends.
  void Finish();

  bool closed() const { return reset_ || (ends_[0].closed && ends_[1].closed); }
  // Bytes of held segments and of incomplete messages.
  size_t held_bytes() const { return held_bytes_ + conversation_.held_bytes(); }
  // Drops what is held, and with it the position in the streams.
  void DropHeld();
  Conversation& conversation() { return conversation_; }

 private:
  struct Held {
    TcpSegment segment;  // its payload is `bytes`
    std::string bytes;
    uint64_t order = 0;
  };
  // To distinguish a packet captured twice from one sent twice.
  struct Recent {
    uint32_t sequence = 0, ip_id = 0;
    Nanos time_ns = 0;
  };
  struct Stream {
    bool started = false, synchronised = false, closed = false;
    uint32_t initial = 0;       // sequence number of the SYN
    uint32_t next = 0;          // of the first byte not passed on
    uint32_t acknowledged = 0;  // of the other end, by the latest data
    uint32_t recent_at = 0;
    std::array<Recent, 8> recent;
    std::vector<Held> held;  // by sequence number
  };

  bool Acknowledged(End from, const TcpSegment& segment) const {
    const Stream& peer = ends_[OtherEnd(from)];
    return (segment.flags & kTcpAck) == 0 || !peer.started ||
           static_cast<int32_t>(segment.acknowledgement - peer.next) <= 0;
  }
  void Synchronise(End from, const TcpSegment& segment);
  bool SeenBefore(const Stream& stream, const TcpSegment& segment) const;
  void CountAgain(const Stream& stream, const TcpSegment& segment);
  void Remember(Stream& stream, const TcpSegment& segment) {
    stream.recent[stream.recent_at++ % stream.recent.size()] = {segment.sequence, segment.ip_id,
                                                                segment.time_ns};
  }
  void Restart(End from, uint32_t sequence);
  void Hold(End from, const TcpSegment& segment);
  void Deliver(End from, const TcpSegment& segment);
  bool DeliverHeld(End from);
  void Pump(Nanos now);
  bool MustGiveUp(Nanos now) const;
  void GiveUpOne();
  void Lose(End from, uint32_t up_to);
  // The end whose first held segment is the earlier; kNoEnd if nothing is held.
  End EarliestHeld() const;

  DialogueContext& context_;
  Conversation conversation_;
  Stream ends_[2];
  bool reset_ = false;
  size_t held_bytes_ = 0;
  uint64_t order_ = 0;
};

}  // namespace wf::pcap
