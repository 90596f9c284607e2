#include "import/pcap/dns_message.h"

#include <algorithm>

#include "import/pcap/byte_order.h"

namespace wf::pcap {
namespace {

constexpr size_t kDnsHead = 12;
constexpr uint16_t kTypeA = 1, kTypeAaaa = 28, kClassIn = 1;
constexpr uint16_t kMostRecords = 512;
constexpr int kMostJumps = 32;  // compression pointers followed; loops are made to be hostile

// Reads the name at `at`, which then stands behind it. False: it runs out of the message.
bool ReadName(std::string_view message, size_t& at, std::string& name) {
  name.clear();
  size_t from = at;
  bool jumped = false;
  for (int jumps = 0; jumps < kMostJumps;) {
    if (from >= message.size()) return false;
    const uint8_t size = Read8(message, from);
    if ((size & 0xc0) == 0xc0) {
      if (from + 2 > message.size()) return false;
      if (!jumped) at = from + 2;
      jumped = true;
      ++jumps;
      from = Read16(message, from) & 0x3fff;
      continue;
    }
    if ((size & 0xc0) != 0 || from + 1 + size > message.size()) return false;
    if (size == 0) {
      if (!jumped) at = from + 1;
      return true;
    }
    if (!name.empty()) name += '.';
    for (size_t i = 0; i < size; ++i) {
      const char c = message[from + 1 + i];
      if (c <= ' ' || c > '~') return false;
      name += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    if (name.size() > 255) return false;
    from += 1u + size;
  }
  return false;
}

}  // namespace

bool ReadDnsHeader(std::string_view message, DnsPort port, DnsHeader& header) {
  if (message.size() < kDnsHead) return false;
  header.id = Read16(message, 0);
  const uint16_t flags = Read16(message, 2);
  header.response = (flags & 0x8000) != 0;
  const uint16_t opcode = flags >> 11 & 0xf, questions = Read16(message, 4);
  // Status and the four numbers of records: plausible ones. 6 is the last opcode given out.
  if (opcode > 6 || (flags & 0x0040) != 0) return false;
  if (Read16(message, 6) > kMostRecords || Read16(message, 8) > kMostRecords ||
      Read16(message, 10) > kMostRecords)
    return false;
  if (questions > 8 || (questions == 0 && !header.response)) return false;
  if (port == DnsPort::kWellKnown) return true;
  if (questions != 1 || opcode != 0 || (!header.response && Read16(message, 6) != 0)) return false;
  size_t at = kDnsHead;
  std::string name;
  if (!ReadName(message, at, name) || at + 4 > message.size()) return false;
  return Read16(message, at + 2) == kClassIn && Read16(message, at) <= 258;
}

std::vector<DnsAddress> ReadDnsAddresses(std::string_view message) {
  std::vector<DnsAddress> addresses;
  DnsHeader header;
  if (!ReadDnsHeader(message, DnsPort::kWellKnown, header) || !header.response) return addresses;
  if (Read16(message, 4) != 1) return addresses;
  size_t at = kDnsHead;
  std::string asked, owner;
  if (!ReadName(message, at, asked) || asked.empty()) return addresses;
  at += 4;
  for (uint16_t answers = Read16(message, 6); answers > 0; --answers) {
    if (!ReadName(message, at, owner) || at + 10 > message.size()) return addresses;
    const uint16_t type = Read16(message, at), size = Read16(message, at + 8);
    at += 10;
    if (at + size > message.size()) return addresses;
    const bool four = type == kTypeA && size == 4, six = type == kTypeAaaa && size == 16;
    if (four || six) {
      DnsAddress found;
      found.name = asked;
      found.address.version = four ? 4 : 6;
      for (size_t i = 0; i < size; ++i) found.address.bytes[i] = Read8(message, at + i);
      addresses.push_back(std::move(found));
    }
    at += size;
  }
  return addresses;
}

}  // namespace wf::pcap
