#include "import/pcap/packet_encoder.h"

#include "import/pcap/byte_order.h"

namespace wf::pcap {
namespace {

constexpr uint8_t kHopLimit = 64;

// The one's complement sum of RFC 1071, to be folded.
uint64_t SumWords(std::string_view bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) sum += Read16(bytes, i);
  if (bytes.size() % 2 != 0) sum += static_cast<uint64_t>(Read8(bytes, bytes.size() - 1)) << 8;
  return sum;
}

uint16_t Fold(uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void Patch16(std::string& bytes, size_t at, uint16_t value) {
  bytes[at] = static_cast<char>(value >> 8);
  bytes[at + 1] = static_cast<char>(value);
}

std::string_view AddressBytes(const IpAddress& address) {
  return {reinterpret_cast<const char*>(address.bytes.data()), address.version == 4 ? 4u : 16u};
}

// The sum over the addresses, the protocol and the length that TCP's and UDP's checksums begin with.
uint64_t SumPseudoHeader(const FiveTuple& flow, uint8_t protocol, size_t length) {
  return SumWords(AddressBytes(flow.source)) + SumWords(AddressBytes(flow.destination)) + protocol +
         length;
}

// The IP header before `length` bytes of `protocol`.
std::string EncodeIpHeader(const FiveTuple& flow, uint8_t protocol, uint16_t ip_id, size_t length) {
  std::string ip;
  ip.reserve(40 + length);
  if (flow.source.version == 6) {
    Put32(0x60000000, ip);
    Put16(length, ip);
    Put8(protocol, ip);
    Put8(kHopLimit, ip);
  } else {
    Put16(0x4500, ip);
    Put16(length + 20, ip);
    Put16(ip_id, ip);
    Put16(0, ip);
    Put8(kHopLimit, ip);
    Put8(protocol, ip);
    Put16(0, ip);
  }
  ip += AddressBytes(flow.source);
  ip += AddressBytes(flow.destination);
  if (flow.source.version != 6) Patch16(ip, 10, Fold(SumWords(ip)));
  return ip;
}

}  // namespace

std::string EncodeUdpPacket(const FiveTuple& flow, uint16_t ip_id, std::string_view payload) {
  const size_t length = payload.size() + 8;
  std::string udp;
  Put16(flow.source_port, udp);
  Put16(flow.destination_port, udp);
  Put16(length, udp);
  Put16(0, udp);
  udp += payload;
  const uint16_t checksum = Fold(SumPseudoHeader(flow, kProtocolUdp, length) + SumWords(udp));
  Patch16(udp, 6, checksum == 0 ? 0xffff : checksum);  // RFC 768: 0 means none
  return EncodeIpHeader(flow, kProtocolUdp, ip_id, length) += udp;
}

std::string EncodeTcpPacket(const FiveTuple& flow, uint32_t sequence, uint32_t acknowledgement,
                            uint8_t flags, std::string_view payload, uint16_t ip_id) {
  const size_t length = payload.size() + 20;
  std::string tcp;
  Put16(flow.source_port, tcp);
  Put16(flow.destination_port, tcp);
  Put32(sequence, tcp);
  Put32(acknowledgement, tcp);
  Put8(5 << 4, tcp);  // words of header
  Put8(flags, tcp);
  Put16(0xffff, tcp);  // window
  Put32(0, tcp);       // checksum, to come, and no urgent data
  tcp += payload;
  Patch16(tcp, 16, Fold(SumPseudoHeader(flow, kProtocolTcp, length) + SumWords(tcp)));
  return EncodeIpHeader(flow, kProtocolTcp, ip_id, length) += tcp;
}

std::string CookedHeader2(uint32_t interface, PacketDirection direction, uint8_t ip_version) {
  std::string header;
  Put16(ip_version == 6 ? 0x86dd : 0x0800, header);
  Put16(0, header);
  Put32(interface, header);
  Put16(1, header);  // ARPHRD_ETHER
  Put8(direction == PacketDirection::kOutgoing ? 4 : 0, header);
  Put8(0, header);  // no link address is told
  Put64(0, header);
  return header;
}

}  // namespace wf::pcap
