// DNS messages (RFC 1035): whether bytes are one, which, and which addresses an answer gives to which names.
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/pcap/packet.h"

namespace wf::pcap {

struct DnsHeader {
  uint16_t id = 0;
  bool response = false;
};

enum class DnsPort : uint8_t { kWellKnown, kOther };

// False: not DNS. On other ports than DNS's, only a message with exactly one question is accepted.
bool ReadDnsHeader(std::string_view message, DnsPort port, DnsHeader& header);

struct DnsAddress {
  std::string name;  // as asked for, without the last dot, in lower case
  IpAddress address;
};
// The addresses in a response, each with the name in the question: aliases are followed, because that name is
// what the client used.
std::vector<DnsAddress> ReadDnsAddresses(std::string_view message);

}  // namespace wf::pcap
