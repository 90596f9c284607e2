#include "import/pcap/dialogue.h"

#include <algorithm>

namespace wf::pcap {
namespace {

// A beginning that grows beyond this is not that of a unit: HTTP servers reject headers of a quarter of it.
constexpr size_t kMostHeld = 128 << 10;
// Turns without a message that was understood, until the protocol is given up.
constexpr uint32_t kMostStrayTurns = 8;

}  // namespace

std::string_view ProtocolName(Protocol protocol) {
  switch (protocol) {
    case Protocol::kUndecided:
    case Protocol::kBlind:
      return "unknown";
    case Protocol::kTls:
      return "tls";
    case Protocol::kHttp1:
      return "http";
    case Protocol::kHttp2:
      return "http2";
    case Protocol::kRedis:
      return "redis";
    case Protocol::kPostgres:
      return "postgresql";
    case Protocol::kMysql:
      return "mysql";
    case Protocol::kKafka:
      return "kafka";
    case Protocol::kDns:
      return "dns";
  }
  return "unknown";
}

void Dialogue::Emit(MessageKind kind, End from, uint32_t id, Nanos time_ns, int64_t bytes) {
  WireMessage message;
  message.kind = kind;
  message.from = from;
  message.protocol = protocol_;
  message.connection = context_.connection;
  message.id = id;
  message.time_ns = time_ns;
  message.bytes = bytes;
  context_.out->push_back(message);
}

void Dialogue::EmitStrayReturn(uint32_t id, Nanos time_ns, int64_t bytes) {
  ++counts().unmatched_returns;
  EmitReturn(id, time_ns, bytes);
  context_.out->back().matched = false;
}

void Dialogue::LoseWay(End from) {
  Stream& s = streams_[from];
  s.held.clear();
  s.skip = 0;
  if (s.lost) return;
  s.lost = true;
  Lost(from);
}

// `bytes` begin with `held` that came earlier. Returns how many were read; the rest is the beginning of a unit.
size_t Dialogue::Read(End from, std::string_view bytes, size_t held) {
  Stream& s = streams_[from];
  size_t at = 0;
  while (at < bytes.size() && !over_) {
    if (s.skip != 0) {
      const size_t pass = std::min<uint64_t>(s.skip, bytes.size() - at);
      s.skip -= pass;
      s.sequence += static_cast<uint32_t>(pass);
      at += pass;
      if (s.skip == 0) Skipped(from);
      continue;
    }
    s.first_time = at < held ? s.held_time : s.last_time;
    const size_t used = Parse(from, bytes.substr(at));
    if (s.lost) return bytes.size();
    if (used == 0) break;
    s.sequence += static_cast<uint32_t>(used);
    at += used;
  }
  return at;
}

size_t Dialogue::Data(End from, std::string_view bytes, Nanos time_ns, uint32_t sequence) {
  Stream& s = streams_[from];
  s.last_time = time_ns;
  if (s.lost) {
    if (!StartsHere(from, bytes)) {
      // Both ends continue and no message is found: this is another protocol.
      if (stray_end_ != from) ++stray_turns_;
      stray_end_ = from;
      if (stray_turns_ > kMostStrayTurns && protocol_ != Protocol::kBlind) {
        ++counts().not_as_begun;
        Quiet();
        Become(Protocol::kBlind);
        return 0;
      }
      Stray(from, bytes.size());
      return bytes.size();
    }
    stray_turns_ = 0;
    stray_end_ = kNoEnd;
    s.lost = false;
    ++counts().resynchronised;
  }
  if (s.held.empty()) {
    s.sequence = sequence;
    const size_t used = Read(from, bytes, 0);
    if (over_ || used >= bytes.size()) return used;
    s.held.assign(bytes.substr(used));
    s.held_time = s.last_time;
    return bytes.size();
  }
  const size_t held = s.held.size();
  if (held + bytes.size() > kMostHeld) {
    LoseWay(from);
    return bytes.size();
  }
  // Moved out: what Parse calls may clear what is held.
  std::string whole = std::move(s.held);
  s.held.clear();
  whole += bytes;
  const size_t used = Read(from, whole, held);
  if (s.lost) return bytes.size();
  if (over_) {
    // The held bytes were the beginning of a unit, which is now complete.
    return used >= held ? used - held : 0;
  }
  if (used >= held) s.held_time = s.last_time;
  whole.erase(0, used);
  s.held = std::move(whole);
  return bytes.size();
}

void Dialogue::DropHeld() {
  for (const End end : {End{0}, End{1}}) {
    if (!streams_[end].held.empty()) LoseWay(end);
  }
}

void Dialogue::Gap(End from, uint32_t bytes) {
  Stream& s = streams_[from];
  if (!s.lost && s.held.empty() && s.skip >= bytes) {
    s.skip -= bytes;
    s.sequence += bytes;
    if (s.skip == 0) Skipped(from);
    return;
  }
  Missed(from);
  if (!s.lost && !s.held.empty()) {
    const std::string held = std::move(s.held);
    s.held.clear();
    s.first_time = s.held_time;
    Broken(from, held);
  }
  LoseWay(from);
}

}  // namespace wf::pcap
