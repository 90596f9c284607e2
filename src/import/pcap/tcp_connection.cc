#include "import/pcap/tcp_connection.h"

#include <algorithm>

namespace wf::pcap {
namespace {

// Reordering in a network or between a capture's queues is over within these; what is still missing then was lost.
constexpr size_t kMostHeldPackets = 128;
constexpr size_t kMostHeldBytes = 1 << 20;
constexpr Nanos kLongestHold = kSecond;
// A packet sent again comes after the retransmission timeout, at least 200 ms on every common system, unless three later
// ones were acknowledged before; a mirror port shows it again within less. Where the IP header has an id, that tells.
constexpr Nanos kSegmentDuplicateWithin = 100 * kMilli;
constexpr Nanos kDoubleWithinById = kSecond;
// Windows are smaller (RFC 7323: 1 GiB at most, 16 MiB by default limits): further away it is another connection.
constexpr uint32_t kFarBack = 64 << 20;
constexpr uint32_t kFarAhead = 1 << 30;

int32_t Difference(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b); }

}  // namespace

bool TcpConnection::IsAnother(End from, const TcpSegment& syn) const {
  const Stream& stream = ends_[from];
  if (closed()) return true;
  if (!stream.started) {
    // The answer to the SYN that was seen acknowledges it.
    const Stream& peer = ends_[OtherEnd(from)];
    if ((syn.flags & kTcpAck) != 0 && peer.synchronised)
      return syn.acknowledgement != peer.initial + 1;
    return peer.started && (syn.flags & kTcpAck) == 0;
  }
  return !stream.synchronised || stream.initial != syn.sequence;
}

void TcpConnection::Synchronise(End from, const TcpSegment& segment) {
  Stream& stream = ends_[from];
  stream.started = stream.synchronised = true;
  stream.initial = segment.sequence;
  stream.next = segment.sequence + 1;
  stream.acknowledged = segment.acknowledgement;
  context_.from_start[from] = true;
  context_.client = (segment.flags & kTcpAck) != 0 ? OtherEnd(from) : from;
  context_.client_guessed = false;
}

bool TcpConnection::SeenBefore(const Stream& stream, const TcpSegment& segment) const {
  const size_t known = std::min<size_t>(stream.recent_at, stream.recent.size());
  for (size_t i = 0; i < known; ++i) {
    const Recent& recent = stream.recent[i];
    if (recent.sequence != segment.sequence || recent.ip_id != segment.ip_id) continue;
    const Nanos within = segment.ip_id != 0 ? kDoubleWithinById : kSegmentDuplicateWithin;
    if (segment.time_ns - recent.time_ns <= within) return true;
  }
  return false;
}

void TcpConnection::CountAgain(const Stream& stream, const TcpSegment& segment) {
  if (SeenBefore(stream, segment)) {
    ++context_.counts->doubles;
  } else {
    ++context_.counts->retransmitted;
  }
}

void TcpConnection::Receive(End from, const TcpSegment& captured) {
  Stream& me = ends_[from];
  TcpSegment segment = captured;
  if ((segment.flags & kTcpSyn) != 0) {
    if (me.started) {
      CountAgain(me, segment);
      return;
    }
    Synchronise(from, segment);
    Remember(me, segment);
    ++segment.sequence;
    segment.flags &= static_cast<uint8_t>(~kTcpSyn);
  } else if (!me.started) {
    me.started = true;
    me.next = segment.sequence;
    me.acknowledged = segment.acknowledgement;
  }
  const uint32_t fin = (segment.flags & kTcpFin) != 0 ? 1 : 0;
  if ((segment.flags & kTcpRst) != 0) {
    Finish();
    reset_ = true;
    conversation_.Closed(0);
    conversation_.Closed(1);
    return;
  }
  const uint32_t size = segment.length + fin;
  if (size == 0) {
    if (held_bytes_ != 0 || !ends_[0].held.empty() || !ends_[1].held.empty()) Pump(segment.time_ns);
    return;
  }
  const int32_t ahead = Difference(segment.sequence, me.next);
  if (ahead == 0 && me.held.empty() && Acknowledged(from, segment)) {
    Remember(me, captured);
    Deliver(from, segment);
    if (!ends_[OtherEnd(from)].held.empty()) Pump(segment.time_ns);
    return;
  }
  if (ahead < 0) {
    const uint32_t again = me.next - segment.sequence;
    if (again >= kFarBack) {
      Restart(from, segment.sequence);
    } else {
      // A probe of an idle connection: one old byte, or none.
      if (again == 1 && segment.length <= 1 && fin == 0) return;
      CountAgain(me, captured);
      if (again >= size) return;
      segment.sequence += again;
      segment.length -= std::min(again, segment.length);
      segment.payload.remove_prefix(std::min<size_t>(again, segment.payload.size()));
    }
  } else if (static_cast<uint32_t>(ahead) >= kFarAhead) {
    Restart(from, segment.sequence);
  }
  Remember(me, captured);
  Hold(from, segment);
  Pump(segment.time_ns);
}

// Sequence numbers of a connection whose SYN was not captured, over the ports of this one.
void TcpConnection::Restart(End from, uint32_t sequence) {
  while (EarliestHeld() != kNoEnd) GiveUpOne();
  conversation_.Gap(from, kFarAhead);
  ++context_.counts->gaps;
  ends_[from].next = sequence;
  ends_[from].closed = false;
}

void TcpConnection::Hold(End from, const TcpSegment& segment) {
  std::vector<Held>& held = ends_[from].held;
  auto at = held.end();
  while (at != held.begin() && Difference(std::prev(at)->segment.sequence, segment.sequence) > 0)
    --at;
  if (at != held.begin()) {
    const TcpSegment& before = std::prev(at)->segment;
    if (before.sequence == segment.sequence && before.length >= segment.length &&
        (before.flags & kTcpFin) >= (segment.flags & kTcpFin)) {
      if (before.ip_id == segment.ip_id) {
        ++context_.counts->doubles;
      } else {
        ++context_.counts->retransmitted;
      }
      return;
    }
  }
  if (at != held.end()) ++context_.counts->out_of_order;
  Held entry;
  entry.segment = segment;
  entry.bytes.assign(segment.payload);
  entry.order = order_++;
  held_bytes_ += entry.bytes.size();
  held.insert(at, std::move(entry));
}

void TcpConnection::Deliver(End from, const TcpSegment& segment) {
  Stream& me = ends_[from];
  if (me.closed) return;  // nothing is sent behind a FIN
  if (!segment.payload.empty()) {
    const uint32_t sequence = me.next;
    context_.one_way[from] = !ends_[OtherEnd(from)].started;
    if (segment.acknowledgement != me.acknowledged) {
      context_.answers_from[from] = me.acknowledged;
      me.acknowledged = segment.acknowledgement;
    }
    me.next += static_cast<uint32_t>(segment.payload.size());
    conversation_.Data(from, segment.payload, segment.time_ns, sequence);
  }
  if (segment.length > segment.payload.size()) {
    const auto cut = segment.length - static_cast<uint32_t>(segment.payload.size());
    me.next += cut;
    conversation_.Gap(from, cut);
  }
  if ((segment.flags & kTcpFin) != 0) {
    ++me.next;
    me.closed = true;
    conversation_.Closed(from);
  }
}

bool TcpConnection::DeliverHeld(End from) {
  Stream& me = ends_[from];
  bool any = false;
  while (!me.held.empty()) {
    Held& head = me.held.front();
    const int32_t ahead = Difference(head.segment.sequence, me.next);
    if (ahead > 0 || !Acknowledged(from, head.segment)) break;
    any = true;
    Held taken = std::move(head);
    me.held.erase(me.held.begin());
    held_bytes_ -= taken.bytes.size();
    TcpSegment segment = taken.segment;
    segment.payload = taken.bytes;
    const uint32_t again = static_cast<uint32_t>(-ahead);
    const uint32_t fin = (segment.flags & kTcpFin) != 0 ? 1 : 0;
    if (again >= segment.length + fin && again != 0) continue;  // others brought it meanwhile
    segment.length -= std::min(again, segment.length);
    segment.payload.remove_prefix(std::min<size_t>(again, segment.payload.size()));
    Deliver(from, segment);
  }
  return any;
}

End TcpConnection::EarliestHeld() const {
  const std::vector<Held>&a = ends_[0].held, &b = ends_[1].held;
  if (a.empty()) return b.empty() ? kNoEnd : 1;
  if (b.empty()) return 0;
  return a.front().order < b.front().order ? 0 : 1;
}

bool TcpConnection::MustGiveUp(Nanos now) const {
  const End earliest = EarliestHeld();
  if (earliest == kNoEnd) return false;
  return held_bytes_ > kMostHeldBytes ||
         ends_[0].held.size() + ends_[1].held.size() > kMostHeldPackets ||
         now - ends_[earliest].held.front().segment.time_ns > kLongestHold;
}

void TcpConnection::Pump(Nanos now) {
  for (;;) {
    while (DeliverHeld(0) || DeliverHeld(1)) {
    }
    if (!MustGiveUp(now)) return;
    GiveUpOne();
  }
}

void TcpConnection::Lose(End from, uint32_t up_to) {
  const uint32_t bytes = up_to - ends_[from].next;
  ends_[from].next = up_to;
  ++context_.counts->gaps;
  context_.counts->gap_bytes += bytes;
  conversation_.Gap(from, bytes);
}

// Counts the missing bytes before the earliest held segment as lost: of its own end, or those that it
// acknowledges.
void TcpConnection::GiveUpOne() {
  const End from = EarliestHeld();
  const TcpSegment& head = ends_[from].held.front().segment;
  if (Difference(head.sequence, ends_[from].next) > 0) {
    Lose(from, head.sequence);
  } else if (!Acknowledged(from, head)) {
    const End peer = OtherEnd(from);
    uint32_t up_to = head.acknowledgement;
    const std::vector<Held>& others = ends_[peer].held;
    if (!others.empty() && Difference(others.front().segment.sequence, ends_[peer].next) > 0 &&
        Difference(others.front().segment.sequence, up_to) < 0)
      up_to = others.front().segment.sequence;
    Lose(peer, up_to);
  }
  while (DeliverHeld(0) || DeliverHeld(1)) {
  }
}

void TcpConnection::DropHeld() {
  while (EarliestHeld() != kNoEnd) GiveUpOne();
  conversation_.DropHeld();
}

void TcpConnection::Quiet() {
  while (EarliestHeld() != kNoEnd) GiveUpOne();
  conversation_.Quiet();
}

void TcpConnection::Finish() {
  while (EarliestHeld() != kNoEnd) GiveUpOne();
  conversation_.Finish();
}

}  // namespace wf::pcap
