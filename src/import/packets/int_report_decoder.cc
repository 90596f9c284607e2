#include "import/packets/int_report_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "import/packets/int_stack_decoder.h"
#include "import/pcap/byte_order.h"
#include "import/pcap/packet_decoder.h"

namespace wf::packets {
namespace {

constexpr size_t kGroupHeader = 8, kReportHeader = 4, kMainFixed = 8;

Error Malformed(size_t at, size_t number, const std::string& what) {
  return BadInput(fmt::format("telemetry report {} at byte {}: {}", number, at, what),
                  "is it of version 2.0?");
}

bool AllOnes(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\xff'; });
}

// Whole TLVs that fill `bytes` exactly, or false.
bool DecodeTlvs(std::string_view bytes, std::vector<IntTlv>& out) {
  out.clear();
  while (!bytes.empty()) {
    if (bytes.size() < 4) return false;
    IntTlv tlv;
    tlv.type = pcap::Read8(bytes, 0) >> 4;
    const size_t size = static_cast<size_t>(pcap::Read8(bytes, 1)) * 4;
    tlv.data_template = pcap::Read16(bytes, 2);
    if (bytes.size() < 4 + size) return false;
    tlv.data = bytes.substr(4, size);
    out.push_back(tlv);
    bytes = bytes.substr(4 + size);
  }
  return true;
}

bool BeginsLikeInner(uint8_t inner_type, std::string_view bytes) {
  std::vector<IntTlv> tlvs;
  switch (static_cast<IntInnerType>(inner_type)) {
    case IntInnerType::kTlv:
      return !bytes.empty() && DecodeTlvs(bytes, tlvs);
    case IntInnerType::kIpv4:
      return bytes.size() >= 20 && pcap::Read8(bytes, 0) >> 4 == 4;
    case IntInnerType::kIpv6:
      return bytes.size() >= 40 && pcap::Read8(bytes, 0) >> 4 == 6;
    default:
      return false;
  }
}

void TakePacket(std::string_view bytes, pcap::LinkType link, IntReport& report) {
  if (bytes.empty() || !report.packet.empty()) return;
  report.packet = bytes;
  report.packet_link = link;
  pcap::PacketHeaders headers;
  const pcap::PacketFault fault = pcap::DecodePacket(link, bytes, headers);
  // Cut within TCP's or UDP's header it still has its addresses.
  if (fault == pcap::PacketFault::kNone ||
      (fault == pcap::PacketFault::kTruncated && headers.flow.source.version != 0)) {
    report.headers = headers;
  }
  // Without the flag there is no embedded metadata, so none is looked for (TR 3.4).
  if (report.headers && report.tracked) report.stack = DecodeIntStack(*report.headers);
}

// TR 3.3: what follows the main contents.
Status DecodeInner(std::string_view bytes, size_t at, size_t number, IntReport& report) {
  switch (static_cast<IntInnerType>(report.inner_type)) {
    case IntInnerType::kTlv:
      if (!DecodeTlvs(bytes, report.tlvs))
        return Malformed(at, number, "its TLVs do not end where it ends");
      for (const IntTlv& tlv : report.tlvs) {
        if (tlv.type == 0) report.extension = tlv.data;
        if (tlv.type == 1) TakePacket(tlv.data, pcap::LinkType::kEthernet, report);
        if (tlv.type == 2 || tlv.type == 3) TakePacket(tlv.data, pcap::LinkType::kRawIp, report);
      }
      break;
    case IntInnerType::kDomainExtension:
      report.extension = bytes;
      break;
    case IntInnerType::kEthernet:
      TakePacket(bytes, pcap::LinkType::kEthernet, report);
      break;
    case IntInnerType::kIpv4:
    case IntInnerType::kIpv6:
      TakePacket(bytes, pcap::LinkType::kRawIp, report);
      break;
    default:
      break;  // none, or a type of the future: the report's own metadata can be used all the same
  }
  return {};
}

// `bytes` is the report behind its first word.
Status DecodeIndividual(std::string_view bytes, size_t metadata_words, size_t at, size_t number,
                        IntReport& report) {
  if (report.type == static_cast<uint8_t>(IntReportType::kInnerOnly))
    return DecodeInner(bytes, at, number, report);
  // IOAM's contents are not defined by version 2.0, so nothing behind them can be found.
  if (report.type != static_cast<uint8_t>(IntReportType::kInt)) return {};
  if (bytes.size() < kMainFixed) return Malformed(at, number, "too short for INT's main contents");
  report.metadata.bits = pcap::Read16(bytes, 0);
  report.domain_id = pcap::Read16(bytes, 2);
  report.domain_bits = pcap::Read16(bytes, 4);
  report.domain_status = pcap::Read16(bytes, 6);
  bytes = bytes.substr(kMainFixed);
  const size_t baseline = static_cast<size_t>(IntWords(report.metadata.bits));
  if (metadata_words < baseline) {
    return Malformed(at, number,
                     fmt::format("metadata length {} is less than its {} words of metadata",
                                 metadata_words, baseline));
  }
  // The length counts domain specific metadata (TR 3.3), but the specification's own example (TR 4.2) leaves it
  // out. Where it does, one word a bit is taken if what follows then begins as its type says.
  if (metadata_words == baseline && report.domain_id != 0 && report.domain_bits != 0) {
    const size_t more = static_cast<size_t>(__builtin_popcount(report.domain_bits));
    if (bytes.size() >= (baseline + more) * 4 &&
        BeginsLikeInner(report.inner_type, bytes.substr((baseline + more) * 4))) {
      metadata_words += more;
    }
  }
  if (bytes.size() < metadata_words * 4)
    return Malformed(at, number, "its metadata goes beyond its end");
  report.metadata = DecodeIntMetadata(IntPlace::kReport, report.metadata.bits,
                                      bytes.substr(0, metadata_words * 4));
  return DecodeInner(bytes.substr(metadata_words * 4), at, number, report);
}

}  // namespace

int IntWords(uint16_t bits) {
  return __builtin_popcount(bits) +
         __builtin_popcount(bits & (kIntIngressTime | kIntEgressTime | kIntLogicalPorts));
}

IntMetadata DecodeIntMetadata(IntPlace place, uint16_t bits, std::string_view bytes) {
  IntMetadata out;
  out.bits = bits;
  size_t at = 0;
  // The field of `bit`, unless it is absent or invalid.
  const auto field = [&](uint16_t bit) -> std::optional<uint64_t> {
    if ((bits & bit) == 0) return std::nullopt;
    const size_t size = static_cast<size_t>(IntWords(bit)) * 4;
    const std::string_view value = bytes.substr(at, size);
    at += size;
    if (AllOnes(value)) {
      ++out.invalid;
      return std::nullopt;
    }
    return size == 8 ? pcap::Read64(value, 0) : pcap::Read32(value, 0);
  };
  const auto first = field(kIntNodeId);
  if (first && place == IntPlace::kStack) out.node_id = static_cast<uint32_t>(*first);
  if (const auto ports = field(kIntPorts)) {
    out.ingress_port = static_cast<uint16_t>(*ports >> 16);
    out.egress_port = static_cast<uint16_t>(*ports);
  }
  if (const auto latency = field(kIntHopLatency)) out.hop_latency = static_cast<uint32_t>(*latency);
  if (const auto queue = field(kIntQueue)) {
    out.queue_id = static_cast<uint8_t>(*queue >> 24);
    out.queue_occupancy = static_cast<uint32_t>(*queue & 0xffffff);
  }
  out.ingress_time = field(kIntIngressTime);
  out.egress_time = field(kIntEgressTime);
  if (const auto ports = field(kIntLogicalPorts)) {
    out.logical_ingress_port = static_cast<uint32_t>(*ports >> 32);
    out.logical_egress_port = static_cast<uint32_t>(*ports);
  }
  if (const auto share = field(kIntUtilization)) out.utilization = static_cast<uint32_t>(*share);
  if (const auto buffer = field(kIntBuffer)) {
    out.buffer_id = static_cast<uint8_t>(*buffer >> 24);
    out.buffer_occupancy = static_cast<uint32_t>(*buffer & 0xffffff);
  }
  for (int reserved = 9; reserved <= 14; ++reserved) {
    const auto unknown = field(IntBit(reserved));  // walked over: four bytes, whatever they mean
    static_cast<void>(unknown);
  }
  const bool complement = place == IntPlace::kStack && (bits & kIntChecksum) != 0;
  if (!complement) {
    if (const auto drop = field(kIntDrop)) {
      out.drop_queue_id = static_cast<uint8_t>(*drop >> 24);
      out.drop_reason = static_cast<uint8_t>(*drop >> 16);
    }
    out.domain = bytes.substr(at);
    return out;
  }
  const size_t end = bytes.size() - 4;
  out.domain = bytes.substr(at, end - at);
  at = end;
  if (const auto value = field(kIntChecksum))
    out.checksum_complement = static_cast<uint32_t>(*value);
  return out;
}

bool LooksLikeIntReports(std::string_view datagram) {
  return datagram.size() >= kGroupHeader + kReportHeader &&
         pcap::Read8(datagram, 0) >> 4 == kIntVersion;
}

Status DecodeIntReports(std::string_view datagram, IntGroup& out) {
  out = {};
  if (!LooksLikeIntReports(datagram)) {
    return BadInput("not a telemetry report of version 2.0",
                    "it has the version in its first four bits, and at least 12 bytes");
  }
  const uint32_t first = pcap::Read32(datagram, 0);
  out.hardware_id = static_cast<uint8_t>(first >> 22 & 0x3f);
  out.sequence = first & (kIntSequences - 1);
  out.node_id = pcap::Read32(datagram, 4);
  for (size_t at = kGroupHeader, number = 1; at < datagram.size(); ++number) {
    if (datagram.size() - at < kReportHeader)
      return Malformed(at, number, "only part of its header is there");
    IntReport report;
    report.type = pcap::Read8(datagram, at) >> 4;
    report.inner_type = pcap::Read8(datagram, at) & 0x0f;
    const size_t size = static_cast<size_t>(pcap::Read8(datagram, at + 1)) * 4;
    const size_t metadata_words = pcap::Read8(datagram, at + 2);
    const uint8_t flags = pcap::Read8(datagram, at + 3);
    report.dropped = (flags & 0x80) != 0;
    report.congested = (flags & 0x40) != 0;
    report.tracked = (flags & 0x20) != 0;
    report.intermediate = (flags & 0x10) != 0;
    if (datagram.size() - at - kReportHeader < size) {
      return Malformed(at, number,
                       fmt::format("its length is {} bytes, {} are left", size,
                                   datagram.size() - at - kReportHeader));
    }
    WF_TRY(DecodeIndividual(datagram.substr(at + kReportHeader, size), metadata_words, at, number,
                            report));
    out.reports.push_back(std::move(report));
    at += kReportHeader + size;
  }
  return {};
}

}  // namespace wf::packets
