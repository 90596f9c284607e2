// In-band Network Telemetry: what a telemetry report says. Layouts are those of the "Telemetry Report Format
// Specification", version 2.0 (P4.org Applications Working Group), sections 3.2 to 3.4, cited below as TR, and of the "In-band
// Network Telemetry (INT) Dataplane Specification", version 2.1, cited as INT.
//
// A UDP datagram holds a group header and one or more individual reports, each about one packet at the
// reporting node. The packet itself, cut short, may follow, and it may contain a stack of metadata of the
// earlier hops (INT-MD).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/pcap/packet.h"

namespace wf::packets {

// Bit 0 is the most significant of the 16 (TR 3.3.1, INT "INT-MD Metadata Header Format").
constexpr uint16_t IntBit(int number) { return static_cast<uint16_t>(0x8000u >> number); }
constexpr uint16_t kIntNodeId = IntBit(0);        // in stacks only; reserved in reports
constexpr uint16_t kIntPorts = IntBit(1);         // level 1: 16 bits ingress, 16 bits egress
constexpr uint16_t kIntHopLatency = IntBit(2);    // 32 bits
constexpr uint16_t kIntQueue = IntBit(3);         // 8 bits id, 24 bits occupancy
constexpr uint16_t kIntIngressTime = IntBit(4);   // 64 bits
constexpr uint16_t kIntEgressTime = IntBit(5);    // 64 bits
constexpr uint16_t kIntLogicalPorts = IntBit(6);  // level 2: 32 bits ingress, 32 bits egress
constexpr uint16_t kIntUtilization = IntBit(7);   // 32 bits
constexpr uint16_t kIntBuffer = IntBit(8);        // 8 bits id, 24 bits occupancy
constexpr uint16_t kIntDrop = IntBit(15);  // reports: 8 bits queue, 8 bits reason, 16 bits padding
constexpr uint16_t kIntChecksum = IntBit(15);  // stacks: the checksum complement, last of all

// The number of four-byte words that the bits stand for: one each, two for bits 4, 5 and 6.
int IntWords(uint16_t bits);

// The place of the metadata decides what bits 0 and 15 mean.
enum class IntPlace : uint8_t { kReport, kStack };

// The metadata of one hop. A value is absent if its bit is not set, or if the field was all ones: "invalid".
struct IntMetadata {
  uint16_t bits = 0;
  std::optional<uint32_t> node_id;
  std::optional<uint16_t> ingress_port, egress_port;
  std::optional<uint32_t> hop_latency;  // ns
  std::optional<uint8_t> queue_id;
  std::optional<uint32_t> queue_occupancy;
  std::optional<uint64_t> ingress_time, egress_time;  // ns of the device's clock
  std::optional<uint32_t> logical_ingress_port, logical_egress_port;
  std::optional<uint32_t> utilization;
  std::optional<uint8_t> buffer_id;
  std::optional<uint32_t> buffer_occupancy;
  std::optional<uint8_t> drop_queue_id, drop_reason;  // reports
  std::optional<uint32_t> checksum_complement;        // stacks
  std::string_view domain;                            // domain specific metadata, whole words
  int invalid = 0;                                    // fields that were all ones
};

// TR 3.3.2. Types: 0 domain specific extension data, 1 Ethernet, 2 IPv4, 3 IPv6.
struct IntTlv {
  uint8_t type = 0;
  uint16_t data_template = 0;
  std::string_view data;  // whole words
};

enum class IntReportType : uint8_t { kInnerOnly = 0, kInt = 1, kIoam = 2 };
enum class IntInnerType : uint8_t {
  kNone = 0,
  kTlv = 1,
  kDomainExtension = 2,
  kEthernet = 3,
  kIpv4 = 4,
  kIpv6 = 5,
};

// INT-MD within a packet (INT "INT-MD Metadata Header Format").
struct IntStack {
  bool discard = false, hops_exceeded = false, mtu_exceeded = false;
  uint8_t hop_words = 0;  // Hop ML
  uint8_t remaining_hops = 0;
  uint16_t instructions = 0, domain_id = 0, domain_instructions = 0, domain_flags = 0;
  std::vector<IntMetadata> hops;  // as in the packet: the newest hop first, the source last
  bool cut = false;  // the packet was truncated within the stack: the earliest hops are missing
};

// One packet, as one node saw it (TR 3.3).
struct IntReport {
  uint8_t type = 1, inner_type = 0;
  bool dropped = false, congested = false, tracked = false, intermediate = false;
  uint16_t domain_id = 0, domain_bits = 0, domain_status = 0;
  IntMetadata metadata;  // of the reporting node; its bits are RepMdBits
  std::vector<IntTlv> tlvs;
  std::string_view extension;  // domain specific extension data
  // The truncated packet, of inner type Ethernet, IPv4 or IPv6, or from a TLV; empty: none.
  std::string_view packet;
  pcap::LinkType packet_link = pcap::LinkType::kRawIp;
  // Its headers without those of INT: the flow as the hosts see it. Set if they could be read.
  std::optional<pcap::PacketHeaders> headers;
  std::optional<IntStack> stack;
};

// One datagram (TR 3.2).
struct IntGroup {
  uint8_t hardware_id = 0;  // 6 bits
  uint32_t sequence = 0;    // 22 bits
  uint32_t node_id = 0;
  std::vector<IntReport> reports;
};

constexpr uint8_t kIntVersion = 2;
constexpr uint32_t kIntSequences = 1u << 22;

}  // namespace wf::packets
