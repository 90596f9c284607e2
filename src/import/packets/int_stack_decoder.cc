#include "import/packets/int_stack_decoder.h"

#include <algorithm>

#include "import/packets/int_report_decoder.h"
#include "import/pcap/byte_order.h"

namespace wf::packets {
namespace {

constexpr size_t kShim = 4, kFixed = 12, kProbeMarker = 8;
constexpr uint8_t kTypeMd = 1, kTypeDestination = 2, kTypeMx = 3;
constexpr uint16_t kVxlanGpePort = 4790, kGenevePort = 6081;
// Next protocol of VXLAN GPE that INT proposes for itself (INT "INT over VXLAN GPE").
constexpr uint8_t kVxlanNextInt = 0x80;

// A shim header with what it announces (INT "INT over TCP/UDP"): 4 bits type, 2 bits next protocol type, 2 reserved, 8
// bits length in words without the shim, 16 bits of the original port, protocol or DSCP.
struct Shim {
  uint8_t type = 0, next_type = 0;
  size_t bytes = 0;  // of INT behind it
  uint16_t original = 0;
  std::string_view body;  // as far as captured
};

// INT's fixed header agrees with itself and with the shim's length. `body` may be cut behind the fixed header.
bool Plausible(const Shim& shim) {
  if (shim.body.size() < kFixed || shim.bytes < kFixed) return false;
  if (pcap::Read8(shim.body, 0) >> 4 != kIntVersion) return false;
  if (shim.type == kTypeMx || shim.type == kTypeDestination) return shim.bytes == kFixed;
  if (shim.type != kTypeMd) return false;
  const size_t hop_words = pcap::Read8(shim.body, 2) & 0x1f;
  const uint16_t instructions = pcap::Read16(shim.body, 4);
  const uint16_t domain_instructions = pcap::Read16(shim.body, 8);
  const size_t asked = static_cast<size_t>(IntWords(instructions));
  if (hop_words == 0 || hop_words < asked) return false;
  if (hop_words > asked && domain_instructions == 0) return false;
  // Only the source may add more than the others, and only if a domain says what.
  return (shim.bytes - kFixed) / 4 % hop_words == 0 || domain_instructions != 0;
}

std::optional<Shim> ShimAt(std::string_view bytes, size_t at) {
  if (bytes.size() < at + kShim + kFixed) return std::nullopt;
  Shim shim;
  shim.type = pcap::Read8(bytes, at) >> 4;
  shim.next_type = pcap::Read8(bytes, at) >> 2 & 3;
  shim.bytes = static_cast<size_t>(pcap::Read8(bytes, at + 1)) * 4;
  shim.original = pcap::Read16(bytes, at + 2);
  shim.body = bytes.substr(at + kShim, shim.bytes);
  if (!Plausible(shim)) return std::nullopt;
  return shim;
}

// INT "INT-MD Metadata Header Format": |Ver|D|E|M|Reserved|Hop ML|RemainingHopCnt|, bitmap, domain, instruction, flags.
IntStack DecodeStack(std::string_view body, size_t whole) {
  IntStack stack;
  const uint8_t flags = pcap::Read8(body, 0);
  stack.discard = (flags & 8) != 0;
  stack.hops_exceeded = (flags & 4) != 0;
  stack.mtu_exceeded = (flags & 2) != 0;
  stack.hop_words = pcap::Read8(body, 2) & 0x1f;
  stack.remaining_hops = pcap::Read8(body, 3);
  stack.instructions = pcap::Read16(body, 4);
  stack.domain_id = pcap::Read16(body, 6);
  stack.domain_instructions = pcap::Read16(body, 8);
  stack.domain_flags = pcap::Read16(body, 10);
  const size_t hop = static_cast<size_t>(stack.hop_words) * 4;
  const size_t hops = (whole - kFixed) / hop;
  const std::string_view data = body.substr(kFixed);
  for (size_t i = 0; i < hops; ++i) {
    if (data.size() < (i + 1) * hop) {
      stack.cut = true;
      break;
    }
    // What the source adds beyond the others' length is domain specific, and of no use without its definition.
    stack.hops.push_back(
        DecodeIntMetadata(IntPlace::kStack, stack.instructions, data.substr(i * hop, hop)));
  }
  return stack;
}

// Headers of TCP or UDP at `transport`.
void ReadPorts(std::string_view transport, pcap::PacketHeaders& headers) {
  headers.flow.source_port = headers.flow.destination_port = 0;
  headers.checksum = 0;
  headers.tcp_sequence = headers.tcp_acknowledgement = 0;
  headers.transport = transport;
  headers.payload = transport;
  const bool tcp = headers.flow.protocol == pcap::kProtocolTcp;
  if ((!tcp && headers.flow.protocol != pcap::kProtocolUdp) || transport.size() < 8) return;
  headers.flow.source_port = pcap::Read16(transport, 0);
  headers.flow.destination_port = pcap::Read16(transport, 2);
  headers.payload = transport.substr(std::min<size_t>(transport.size(), tcp ? 20 : 8));
  if (tcp) headers.tcp_sequence = pcap::Read32(transport, 4);
  if (!tcp) headers.checksum = pcap::Read16(transport, 6);
  if (tcp && transport.size() >= 18) headers.checksum = pcap::Read16(transport, 16);
}

// Behind TCP or UDP: `at` is where the shim stands in the transport's bytes.
std::optional<IntStack> TakeOut(const Shim& shim, size_t at, pcap::PacketHeaders& headers) {
  const std::string_view transport = headers.transport;
  const std::string_view rest =
      transport.substr(std::min(transport.size(), at + kShim + shim.bytes));
  if (shim.next_type == 2) {  // a UDP header was put before the packet's own
    headers.flow.protocol = static_cast<uint8_t>(shim.original);
    ReadPorts(rest, headers);
  } else {
    if (shim.next_type == 1) headers.flow.destination_port = shim.original;
    headers.payload = rest;
    headers.checksum = 0;  // of a packet with INT in it: another one at each hop
  }
  headers.payload_length = static_cast<uint32_t>(headers.payload.size());
  if (shim.type != kTypeMd) return std::nullopt;
  return DecodeStack(shim.body, shim.bytes);
}

std::optional<IntStack> BehindTransport(pcap::PacketHeaders& headers) {
  const std::string_view transport = headers.transport;
  const bool tcp = headers.flow.protocol == pcap::kProtocolTcp;
  if (transport.size() < (tcp ? 20u : 8u)) return std::nullopt;
  const size_t whole = transport.size() - headers.payload.size();
  // Behind the header; with a probe marker before it; or before TCP's options.
  for (const size_t at : {whole, whole + kProbeMarker, size_t{20}}) {
    if (at == 20 && !tcp) continue;
    if (const auto shim = ShimAt(transport, at)) return TakeOut(*shim, at, headers);
  }
  return std::nullopt;
}

// INT "INT over VXLAN GPE": 8 bytes of VXLAN, the shim, INT, then the tenant's frame. The flow is the tunnel's.
std::optional<IntStack> BehindVxlanGpe(pcap::PacketHeaders& headers) {
  const std::string_view payload = headers.payload;
  if (headers.flow.destination_port != kVxlanGpePort || payload.size() < 8) return std::nullopt;
  if ((pcap::Read8(payload, 0) & 4) == 0 || pcap::Read8(payload, 3) != kVxlanNextInt)
    return std::nullopt;
  const auto shim = ShimAt(payload, 8);
  if (!shim) return std::nullopt;
  headers.payload = payload.substr(std::min(payload.size(), 8 + kShim + shim->bytes));
  headers.checksum = 0;
  if (shim->type != kTypeMd) return std::nullopt;
  return DecodeStack(shim->body, shim->bytes);
}

// INT "INT over Geneve": an option whose data is INT's header; class and type are for the network to choose.
std::optional<IntStack> BehindGeneve(pcap::PacketHeaders& headers) {
  const std::string_view payload = headers.payload;
  if (headers.flow.destination_port != kGenevePort || payload.size() < 8) return std::nullopt;
  const size_t options = static_cast<size_t>(pcap::Read8(payload, 0) & 0x3f) * 4;
  const std::string_view list = payload.substr(8, options);
  for (size_t at = 0; at + 4 <= list.size();) {
    Shim shim;
    shim.type = kTypeMd;
    shim.bytes = static_cast<size_t>(pcap::Read8(list, at + 3) & 0x1f) * 4;
    shim.body = list.substr(at + 4, shim.bytes);
    if (Plausible(shim)) {
      headers.payload = payload.substr(std::min(payload.size(), 8 + options));
      headers.checksum = 0;
      return DecodeStack(shim.body, shim.bytes);
    }
    at += 4 + shim.bytes;
  }
  return std::nullopt;
}

// INT "INT over IPv4/GRE": |Type|G|Rsvd|Length|Next Protocol| behind the GRE header with its optional words.
std::optional<IntStack> BehindGre(pcap::PacketHeaders& headers) {
  const std::string_view gre = headers.transport;
  if (gre.size() < 4) return std::nullopt;
  const uint8_t flags = pcap::Read8(gre, 0);
  size_t at = 4;
  if ((flags & 0xc0) != 0) at += 4;  // checksum and offset
  if ((flags & 0x20) != 0) at += 4;  // key
  if ((flags & 0x10) != 0) at += 4;  // sequence number
  const auto shim = ShimAt(gre, at);
  if (!shim) return std::nullopt;
  headers.payload = gre.substr(std::min(gre.size(), at + kShim + shim->bytes));
  if (shim->type != kTypeMd) return std::nullopt;
  return DecodeStack(shim->body, shim->bytes);
}

}  // namespace

std::optional<IntStack> DecodeIntStack(pcap::PacketHeaders& headers) {
  if (headers.fragment_offset != 0) return std::nullopt;
  switch (headers.flow.protocol) {
    case pcap::kProtocolGre:
      return BehindGre(headers);
    case pcap::kProtocolUdp:
      if (auto stack = BehindVxlanGpe(headers)) return stack;
      if (auto stack = BehindGeneve(headers)) return stack;
      return BehindTransport(headers);
    case pcap::kProtocolTcp:
      return BehindTransport(headers);
    default:
      return std::nullopt;
  }
}

}  // namespace wf::packets
