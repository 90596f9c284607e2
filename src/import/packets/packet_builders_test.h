// Bytes for the tests of this folder.
#pragma once

#include <string>
#include <string_view>

#include "import/packets/int_report.h"
#include "import/packets/int_report_encoder.h"
#include "import/pcap/packet_decoder.h"
#include "import/pcap/packet_encoder.h"

namespace wf::packets {

// "0a 0b": digits in pairs; blanks and line ends are nothing.
inline std::string Hex(std::string_view text) {
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

// Host 10.0.0.`from` to host 10.0.1.`to`.
inline pcap::FiveTuple FlowBetween(int from, int to) {
  pcap::FiveTuple flow;
  flow.source = pcap::Ipv4Address(10, 0, 0, static_cast<uint8_t>(from));
  flow.destination = pcap::Ipv4Address(10, 0, 1, static_cast<uint8_t>(to));
  flow.source_port = static_cast<uint16_t>(5000 + from);
  flow.destination_port = static_cast<uint16_t>(6000 + to);
  flow.protocol = pcap::kProtocolUdp;
  return flow;
}

// Metadata of a hop with its queue and both times.
inline IntMetadata HopMetadata(uint32_t node, uint16_t port, uint8_t queue, uint64_t in,
                               uint64_t out) {
  IntMetadata hop;
  hop.bits = kIntPorts | kIntQueue | kIntIngressTime | kIntEgressTime;
  hop.node_id = node;
  hop.ingress_port = 1;
  hop.egress_port = port;
  hop.queue_id = queue;
  hop.queue_occupancy = 3;
  hop.ingress_time = in;
  hop.egress_time = out;
  return hop;
}

// One report of the packet at one hop, as INT-XD sends it. `packet` must outlive the group.
inline IntGroup HopReport(uint32_t node, uint32_t sequence, const IntMetadata& hop,
                          std::string_view packet) {
  IntGroup group;
  group.node_id = node;
  group.sequence = sequence;
  IntReport report;
  report.inner_type = static_cast<uint8_t>(IntInnerType::kIpv4);
  report.tracked = true;
  report.metadata = hop;
  report.packet = packet;
  group.reports.push_back(report);
  return group;
}

}  // namespace wf::packets
