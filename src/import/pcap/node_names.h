// NodeNames: the names of a capture's nodes: from a file of `address[:port] name` lines, from DNS answers in
// the capture, else the address. Thread safety: none while names are added.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "import/pcap/packet.h"

namespace wf::pcap {

// "10.0.0.1", "fd00::1", "[fd00::1]". False: neither.
bool ParseIpAddress(std::string_view text, IpAddress& address);

class NodeNames {
 public:
  // Lines `address name`, `address:port name`, `[v6 address]:port name`; empty lines and those that begin
  // with # are skipped. BadInput names the line. Earlier lines win.
  static Result<NodeNames> Parse(std::string_view text, const std::string& name);
  static Result<NodeNames> Load(const std::string& path);

  // By address and port first, then by address, else the address itself.
  std::string NameOf(const IpAddress& address, uint16_t port) const;
  // Names an address without a name; port 0: all ports.
  void Add(const IpAddress& address, uint16_t port, std::string_view name);
  bool empty() const { return names_.empty(); }

 private:
  std::unordered_map<std::string, std::string> names_;  // by the address's bytes and the port's
};

}  // namespace wf::pcap
