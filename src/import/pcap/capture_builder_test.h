// Captures made by hand for tests: what two ends say to each other, as TCP packets in a file in memory.
#pragma once

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/pcap/byte_order.h"
#include "import/pcap/capture_sightings.h"
#include "import/pcap/packet_encoder.h"

namespace wf::pcap {

constexpr Nanos kTestStart = 1'794'643'200 * kSecond;

struct BuiltPacket {
  Nanos time_ns = 0;
  std::string bytes;
  bool payload = false;
  int said = -1;  // which Say it is of
};

// A pcap file with nanoseconds of raw IP packets, as this machine's byte order has it.
inline std::string CaptureFile(const std::vector<BuiltPacket>& packets,
                               uint32_t snapshot_length = 262144) {
  std::string file;
  const auto put = [&](uint32_t value) { file.append(reinterpret_cast<const char*>(&value), 4); };
  put(0xa1b23c4d);
  put(4 << 16 | 2);
  put(0);
  put(0);
  put(snapshot_length);
  put(101);
  for (const BuiltPacket& packet : packets) {
    const auto captured =
        static_cast<uint32_t>(std::min<size_t>(packet.bytes.size(), snapshot_length));
    put(static_cast<uint32_t>(packet.time_ns / kSecond));
    put(static_cast<uint32_t>(packet.time_ns % kSecond));
    put(captured);
    put(static_cast<uint32_t>(packet.bytes.size()));
    file.append(packet.bytes, 0, captured);
  }
  return file;
}

// One connection: client 10.0.0.1, server 10.0.0.2. Every packet is a millisecond later than the one before.
class TalkBuilder {
 public:
  explicit TalkBuilder(uint16_t server_port, uint16_t client_port = 40000,
                       uint32_t client_sequence = 1000, uint32_t server_sequence = 5000)
      : forth_{Ipv4Address(10, 0, 0, 1), Ipv4Address(10, 0, 0, 2), client_port, server_port,
               kProtocolTcp},
        back_{forth_.destination, forth_.source, server_port, client_port, kProtocolTcp} {
    sequence_[0] = client_sequence;
    sequence_[1] = server_sequence;
  }

  TalkBuilder& Open() {
    Put(0, kTcpSyn, {}, -1);
    ++sequence_[0];
    Put(1, kTcpSyn | kTcpAck, {}, -1);
    ++sequence_[1];
    return Acknowledge(0);
  }
  // `end` 0 is the client. In packets of at most `most` bytes.
  TalkBuilder& Say(int end, std::string_view bytes, size_t most = 1400) {
    for (size_t at = 0; at < bytes.size(); at += most) SayPacket(end, bytes.substr(at, most));
    ++said_;
    return *this;
  }
  // In packets of these sizes; the rest in one.
  TalkBuilder& SayIn(int end, std::string_view bytes, const std::vector<size_t>& sizes) {
    for (const size_t size : sizes) {
      if (bytes.empty()) break;
      const size_t now = std::min(std::max<size_t>(size, 1), bytes.size());
      SayPacket(end, bytes.substr(0, now));
      bytes.remove_prefix(now);
    }
    if (!bytes.empty()) SayPacket(end, bytes);
    ++said_;
    return *this;
  }
  TalkBuilder& Client(std::string_view bytes, size_t most = 1400) { return Say(0, bytes, most); }
  TalkBuilder& Server(std::string_view bytes, size_t most = 1400) { return Say(1, bytes, most); }
  TalkBuilder& Acknowledge(int end) {
    Put(end, kTcpAck, {}, -1);
    return *this;
  }
  TalkBuilder& Close() {
    for (const int end : {0, 1}) {
      Put(end, kTcpFin | kTcpAck, {}, -1);
      ++sequence_[end];
    }
    return Acknowledge(0);
  }
  TalkBuilder& Reset(int end) {
    Put(end, kTcpRst | kTcpAck, {}, -1);
    return *this;
  }
  // Bytes that are on the wire but not in the capture.
  TalkBuilder& Miss(int end, size_t bytes) {
    sequence_[end] += static_cast<uint32_t>(bytes);
    return *this;
  }
  TalkBuilder& Wait(Nanos duration) {
    now_ += duration;
    return *this;
  }

  std::vector<BuiltPacket>& packets() { return packets_; }
  uint32_t sequence(int end) const { return sequence_[end]; }
  Nanos now() const { return now_; }

 private:
  void SayPacket(int end, std::string_view bytes) {
    Put(end, kTcpPsh | kTcpAck, bytes, said_);
    sequence_[end] += static_cast<uint32_t>(bytes.size());
  }
  void Put(int end, uint8_t flags, std::string_view payload, int said) {
    now_ += kMilli;
    packets_.push_back(
        {now_,
         EncodeTcpPacket(end == 0 ? forth_ : back_, sequence_[end],
                         (flags & kTcpAck) != 0 ? sequence_[1 - end] : 0, flags, payload, ++id_),
         !payload.empty(), said});
  }

  FiveTuple forth_, back_;
  uint32_t sequence_[2];
  uint16_t id_ = 0;
  int said_ = 0;
  Nanos now_ = kTestStart;
  std::vector<BuiltPacket> packets_;
};

struct ReadCapture {
  // "CALL 1 84 @4": kind, exchange in order of appearance, bytes, ms after the start.
  std::vector<std::string> lines;
  std::vector<std::string> bare;  // without the time
  std::vector<std::string> full;  // as message text
  CaptureCounts counts;
};

inline ReadCapture ReadBytes(const std::string& file, const CaptureSightingOptions& options = {}) {
  ReadCapture read;
  StringTable nodes;
  auto source = CaptureSightings::OpenBytes(file, "test", options, nodes);
  if (!source.ok()) {
    read.lines.push_back(source.error().message);
    return read;
  }
  std::map<std::string, int> exchanges;
  SightingLine line;
  for (;;) {
    const Result<bool> more = (*source)->Next(line);
    if (!more.ok() || !*more) break;
    const Sighting& s = line.sighting;
    const char* kind = s.kind == MessageKind::kCall     ? "CALL"
                       : s.kind == MessageKind::kReturn ? "RET"
                                                        : "MSG";
    const int exchange =
        exchanges.emplace(line.id, static_cast<int>(exchanges.size()) + 1).first->second;
    std::string text =
        std::string(kind) + " " + std::to_string(exchange) + " " + std::to_string(s.bytes);
    if (line.id.back() == 'r') text += " unmatched";
    read.bare.push_back(text);
    read.lines.push_back(text + " @" + std::to_string((s.time_ns - kTestStart) / kMilli));
    read.full.push_back(std::string(kind) + " " + std::string(nodes.At(s.sender)) + " " +
                        std::string(nodes.At(s.receiver)) + " " + line.id + " " + line.keys);
  }
  read.counts = (*source)->counts();
  return read;
}

inline ReadCapture Read(TalkBuilder& talk, const CaptureSightingOptions& options = {}) {
  return ReadBytes(CaptureFile(talk.packets()), options);
}

inline std::string FromHex(std::string_view text) {
  std::string bytes, digits;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    digits.push_back(c);
    if (digits.size() < 2) continue;
    bytes.push_back(static_cast<char>(std::stoi(digits, nullptr, 16)));
    digits.clear();
  }
  return bytes;
}

}  // namespace wf::pcap
