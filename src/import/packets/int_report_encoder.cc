#include "import/packets/int_report_encoder.h"

#include <fmt/format.h>

#include "import/pcap/byte_order.h"

namespace wf::packets {
namespace {

void Pad(std::string& out) {
  while (out.size() % 4 != 0) out.push_back('\0');
}

std::string EncodeInner(const IntReport& report) {
  std::string out;
  switch (static_cast<IntInnerType>(report.inner_type)) {
    case IntInnerType::kTlv:
      for (const IntTlv& tlv : report.tlvs) {
        pcap::Put8(tlv.type << 4, out);
        pcap::Put8((tlv.data.size() + 3) / 4, out);
        pcap::Put16(tlv.data_template, out);
        out += tlv.data;
        Pad(out);
      }
      break;
    case IntInnerType::kDomainExtension:
      out += report.extension;
      break;
    case IntInnerType::kEthernet:
    case IntInnerType::kIpv4:
    case IntInnerType::kIpv6:
      out += report.packet;
      break;
    default:
      break;
  }
  Pad(out);
  return out;
}

}  // namespace

void EncodeIntMetadata(const IntMetadata& metadata, IntPlace place, std::string& out) {
  const auto one = [&](uint16_t bit, std::optional<uint32_t> value) {
    if ((metadata.bits & bit) != 0) pcap::Put32(value.value_or(UINT32_MAX), out);
  };
  const auto two = [&](uint16_t bit, std::optional<uint64_t> value) {
    if ((metadata.bits & bit) != 0) pcap::Put64(value.value_or(UINT64_MAX), out);
  };
  // Both halves or neither: all ones is the whole field's.
  const auto joined = [](const auto& high, const auto& low, int shift) -> std::optional<uint64_t> {
    if (!high || !low) return std::nullopt;
    return static_cast<uint64_t>(*high) << shift | *low;
  };
  const auto word = [&](const auto& high, const auto& low, int shift) -> std::optional<uint32_t> {
    const auto value = joined(high, low, shift);
    if (!value) return std::nullopt;
    return static_cast<uint32_t>(*value);
  };
  one(kIntNodeId, metadata.node_id);
  one(kIntPorts, word(metadata.ingress_port, metadata.egress_port, 16));
  one(kIntHopLatency, metadata.hop_latency);
  one(kIntQueue, word(metadata.queue_id, metadata.queue_occupancy, 24));
  two(kIntIngressTime, metadata.ingress_time);
  two(kIntEgressTime, metadata.egress_time);
  two(kIntLogicalPorts, joined(metadata.logical_ingress_port, metadata.logical_egress_port, 32));
  one(kIntUtilization, metadata.utilization);
  one(kIntBuffer, word(metadata.buffer_id, metadata.buffer_occupancy, 24));
  for (int reserved = 9; reserved <= 14; ++reserved) one(IntBit(reserved), std::nullopt);
  if (place == IntPlace::kReport) {
    std::optional<uint32_t> drop = word(metadata.drop_queue_id, metadata.drop_reason, 8);
    if (drop) *drop <<= 16;
    one(kIntDrop, drop);
  }
  out += metadata.domain;
  Pad(out);
  if (place == IntPlace::kStack) one(kIntChecksum, metadata.checksum_complement);
}

Result<std::string> EncodeIntReports(const IntGroup& group) {
  std::string out;
  pcap::Put32(static_cast<uint64_t>(kIntVersion) << 28 |
                  static_cast<uint64_t>(group.hardware_id & 0x3f) << 22 |
                  (group.sequence & (kIntSequences - 1)),
              out);
  pcap::Put32(group.node_id, out);
  for (const IntReport& report : group.reports) {
    std::string main, metadata;
    if (report.type == static_cast<uint8_t>(IntReportType::kInt)) {
      pcap::Put16(report.metadata.bits, main);
      pcap::Put16(report.domain_id, main);
      pcap::Put16(report.domain_bits, main);
      pcap::Put16(report.domain_status, main);
      EncodeIntMetadata(report.metadata, IntPlace::kReport, metadata);
    }
    const std::string inner = EncodeInner(report);
    const size_t words = (main.size() + metadata.size() + inner.size()) / 4;
    if (words > 255) {
      return BadInput(fmt::format("a telemetry report of {} words", words),
                      "at most 255: cut the packet within it");
    }
    pcap::Put8(report.type << 4 | (report.inner_type & 0x0f), out);
    pcap::Put8(words, out);
    pcap::Put8(metadata.size() / 4, out);
    pcap::Put8((report.dropped ? 0x80 : 0) | (report.congested ? 0x40 : 0) |
                   (report.tracked ? 0x20 : 0) | (report.intermediate ? 0x10 : 0),
               out);
    out += main + metadata + inner;
  }
  return out;
}

std::string EncodeIntOverUdp(const pcap::PacketHeaders& headers, const IntStack& stack,
                             uint16_t port) {
  std::string body;
  pcap::Put8(kIntVersion << 4 | (stack.discard ? 8 : 0) | (stack.hops_exceeded ? 4 : 0) |
                 (stack.mtu_exceeded ? 2 : 0),
             body);
  pcap::Put8(0, body);
  pcap::Put8(stack.hop_words & 0x1f, body);
  pcap::Put8(stack.remaining_hops, body);
  pcap::Put16(stack.instructions, body);
  pcap::Put16(stack.domain_id, body);
  pcap::Put16(stack.domain_instructions, body);
  pcap::Put16(stack.domain_flags, body);
  for (const IntMetadata& hop : stack.hops) EncodeIntMetadata(hop, IntPlace::kStack, body);

  std::string udp;
  pcap::Put16(headers.flow.source_port, udp);
  pcap::Put16(port, udp);
  pcap::Put16(8 + 4 + body.size() + headers.transport.size(), udp);
  pcap::Put16(0, udp);  // none, as the specification recommends
  pcap::Put8(0x10 | 2 << 2, udp);
  pcap::Put8(body.size() / 4, udp);
  pcap::Put16(headers.flow.protocol, udp);
  udp += body;

  std::string ip(headers.network.substr(0, headers.network.size() - headers.transport.size()));
  const bool six = headers.flow.source.version == 6;
  const size_t added = udp.size();
  const size_t at = six ? 4 : 2;
  const size_t length = pcap::Read16(ip, at) + added;
  ip[at] = static_cast<char>(length >> 8);
  ip[at + 1] = static_cast<char>(length);
  ip[six ? 6 : 9] = static_cast<char>(pcap::kProtocolUdp);
  return ip + udp + std::string(headers.transport);
}

}  // namespace wf::packets
