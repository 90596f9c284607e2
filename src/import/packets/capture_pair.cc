#include "import/packets/capture_pair.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "import/pcap/capture_reader.h"
#include "import/pcap/packet_decoder.h"

namespace wf::packets {
namespace {

// Link, IP and TCP headers with options: what a snapshot length holds besides payload.
constexpr size_t kMostHeaders = 20 + 60 + 60;

struct HashOf {
  size_t operator()(const Hash128& hash) const { return hash.lo; }
};

enum class Side : uint8_t { kBefore, kAfter };

// What the files of a pair are read with.
struct PairReading {
  size_t payload_limit;
  const CaptureProgress& progress;
  size_t bytes = 0;
};

Status ReadSide(const std::string& path, Side side, PairReading& reading, PacketPassages& out,
                std::vector<SightedPacket>& sightings) {
  WF_ASSIGN(const auto reader, pcap::CaptureReader::Open(path));
  PacketSighter sighter(out, reading.payload_limit);
  const pcap::PacketDirection other =
      side == Side::kBefore ? pcap::PacketDirection::kOutgoing : pcap::PacketDirection::kIncoming;
  while (const auto packet = reader->Next()) {
    reading.bytes += packet->bytes.size() + kCaptureRecordHeader;
    if (reading.progress && !reading.progress(reading.bytes)) return CaptureStopped();
    out.Count("packets");
    out.Count("bytes", static_cast<int64_t>(packet->bytes.size() + kCaptureRecordHeader));
    pcap::PacketHeaders headers;
    const pcap::PacketFault fault = pcap::DecodePacket(packet->link, packet->bytes, headers);
    if (fault != pcap::PacketFault::kNone) {
      out.Count(pcap::PacketFaultName(fault));
      continue;
    }
    if (headers.direction == other) {
      out.Count("other_direction");
      continue;
    }
    sightings.push_back(sighter.Sight(packet->time_ns, headers));
  }
  // A signal in the middle of reading looks like the file's end.
  if (reading.progress && !reading.progress(reading.bytes)) return CaptureStopped();
  if (reader->truncated()) out.Count("truncated_files");
  return {};
}

Result<size_t> PayloadLimit(const std::vector<CapturePair>& pairs) {
  size_t limit = SIZE_MAX;
  const auto consider = [&](const std::string& path) -> Status {
    WF_ASSIGN(const auto reader, pcap::CaptureReader::Open(path));
    const size_t length = reader->snapshot_length();
    if (length < 65535) limit = std::min(limit, length - std::min(length, kMostHeaders));
    return {};
  };
  for (const CapturePair& pair : pairs) {
    for (const std::string& path : pair.before) WF_TRY(consider(path));
    WF_TRY(consider(pair.after));
  }
  return limit;
}

}  // namespace

SightedPacket PacketSighter::Sight(Nanos time_ns, const pcap::PacketHeaders& headers) {
  pcap::PacketHeaders whole = headers;
  if (headers.fragment) {
    out_.Count("fragments");
    pcap::PacketHeaders datagram;  // of all fragments of one datagram
    datagram.flow = headers.flow;
    datagram.flow.source_port = datagram.flow.destination_port = 0;
    datagram.ip_id = headers.ip_id;
    const std::pair<Hash128, uint32_t> key(PacketContent(datagram, 0), headers.ip_id);
    if (headers.fragment_offset == 0) {
      first_fragments_[key] = headers.flow;
    } else if (const auto first = first_fragments_.find(key); first != first_fragments_.end()) {
      whole.flow = first->second;
    }
  }
  SightedPacket sighted;
  sighted.time_ns = time_ns;
  const std::string_view payload = headers.payload.substr(0, payload_limit_);
  sighted.content = PacketContent(headers, HashBytes(payload));
  sighted.flow = out_.FlowIndex(whole.flow);
  return sighted;
}

void MatchSightings(const QueueName& queue, const std::vector<SightedPacket>& before,
                    const std::vector<SightedPacket>& after, PacketPassages& out) {
  std::unordered_map<Hash128, std::deque<const SightedPacket*>, HashOf> waiting;
  for (const SightedPacket& packet : before) waiting[packet.content].push_back(&packet);
  const uint32_t index = out.QueueIndex(queue);
  Hasher128 place;
  place.Add(queue.text());
  int64_t matched = 0;
  for (const SightedPacket& left : after) {
    const auto found = waiting.find(left.content);
    // The first equal packet that came in before this one went out. An earlier one that never went out was
    // dropped, but equal packets cannot be distinguished.
    if (found == waiting.end() || found->second.empty() ||
        found->second.front()->time_ns > left.time_ns) {
      out.Count("unmatched_after");
      continue;
    }
    const SightedPacket& entered = *found->second.front();
    found->second.pop_front();
    ++matched;
    out.passages.push_back({index, left.flow, out.PacketId(left.content, place.Finish()),
                            entered.time_ns, left.time_ns, 0});
  }
  out.Count("matched", matched);
  out.Count("unmatched_before", static_cast<int64_t>(before.size()) - matched);
}

namespace {

Status AddCapturePair(const CapturePair& pair, PairReading& reading, PacketPassages& out) {
  std::vector<SightedPacket> before, after;
  for (const std::string& path : pair.before)
    WF_TRY(ReadSide(path, Side::kBefore, reading, out, before));
  WF_TRY(ReadSide(pair.after, Side::kAfter, reading, out, after));
  const auto by_time = [](const SightedPacket& a, const SightedPacket& b) {
    return a.time_ns < b.time_ns;
  };
  std::stable_sort(before.begin(), before.end(), by_time);
  std::stable_sort(after.begin(), after.end(), by_time);
  MatchSightings(pair.queue, before, after, out);
  return {};
}

}  // namespace

Status AddCapturePairs(const std::vector<CapturePair>& pairs, PacketPassages& out,
                       const CaptureProgress& progress) {
  WF_ASSIGN(const size_t limit, PayloadLimit(pairs));
  PairReading reading{limit, progress};
  for (const CapturePair& pair : pairs) WF_TRY(AddCapturePair(pair, reading, out));
  return {};
}

}  // namespace wf::packets
