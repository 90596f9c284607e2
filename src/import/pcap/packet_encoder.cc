#include "import/pcap/packet_encoder.h"

#include "import/pcap/byte_order.h"

namespace wf {
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

}  // namespace

std::string EncodeUdpPacket(const FiveTuple& flow, uint16_t ip_id, std::string_view payload) {
  const size_t udp_length = payload.size() + 8;
  std::string udp;
  Put16(flow.source_port, udp);
  Put16(flow.destination_port, udp);
  Put16(udp_length, udp);
  Put16(0, udp);
  udp += payload;
  const uint64_t pseudo = SumWords(AddressBytes(flow.source)) +
                          SumWords(AddressBytes(flow.destination)) + kProtocolUdp + udp_length;
  const uint16_t checksum = Fold(pseudo + SumWords(udp));
  Patch16(udp, 6, checksum == 0 ? 0xffff : checksum);  // RFC 768: 0 means none

  std::string ip;
  if (flow.source.version == 6) {
    Put32(0x60000000, ip);
    Put16(udp_length, ip);
    Put8(kProtocolUdp, ip);
    Put8(kHopLimit, ip);
  } else {
    Put16(0x4500, ip);
    Put16(udp_length + 20, ip);
    Put16(ip_id, ip);
    Put16(0, ip);
    Put8(kHopLimit, ip);
    Put8(kProtocolUdp, ip);
    Put16(0, ip);
  }
  ip += AddressBytes(flow.source);
  ip += AddressBytes(flow.destination);
  if (flow.source.version != 6) Patch16(ip, 10, Fold(SumWords(ip)));
  return ip + udp;
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

}  // namespace wf
