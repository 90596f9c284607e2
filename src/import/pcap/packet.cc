#include "import/pcap/packet.h"

#include <arpa/inet.h>
#include <fmt/format.h>

namespace wf::pcap {

std::string ToString(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.version == 4) ::inet_ntop(AF_INET, address.bytes.data(), text, sizeof text);
  if (address.version == 6) ::inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
  return text;
}

IpAddress Ipv4Address(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  IpAddress address;
  address.version = 4;
  address.bytes = {a, b, c, d};
  return address;
}

std::string FlowName(const FiveTuple& flow) {
  std::string name;
  switch (flow.protocol) {
    case kProtocolTcp:
      name = "tcp";
      break;
    case kProtocolUdp:
      name = "udp";
      break;
    case kProtocolIcmp:
      name = "icmp";
      break;
    case kProtocolIcmp6:
      name = "icmp6";
      break;
    default:
      name = fmt::format("ip-{}", flow.protocol);
  }
  const bool ports = flow.source_port != 0 || flow.destination_port != 0;
  const auto end = [&](const IpAddress& address, uint16_t port) {
    const std::string text = ToString(address);
    if (!ports) return text;
    return address.version == 6 ? fmt::format("[{}]:{}", text, port)
                                : fmt::format("{}:{}", text, port);
  };
  return name + ":" + end(flow.source, flow.source_port) + "-" +
         end(flow.destination, flow.destination_port);
}

}  // namespace wf::pcap
