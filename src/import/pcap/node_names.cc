#include "import/pcap/node_names.h"

#include <arpa/inet.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "import/pcap/byte_order.h"

namespace wf::pcap {
namespace {

std::string KeyOfNode(const IpAddress& address, uint16_t port) {
  std::string key(reinterpret_cast<const char*>(address.bytes.data()),
                  address.version == 4 ? 4 : 16);
  Put16(port, key);
  return key;
}

// "address", "address:port", "[address]:port".
bool ParseEndpoint(std::string_view text, IpAddress& address, uint16_t& port) {
  port = 0;
  if (ParseIpAddress(text, address)) return true;
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !ParseIpAddress(text.substr(0, colon), address))
    return false;
  const std::string_view digits = text.substr(colon + 1);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() && port != 0;
}

}  // namespace

bool ParseIpAddress(std::string_view text, IpAddress& address) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  const std::string copy(text);
  address = {};
  if (::inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) {
    address.version = 4;
    return true;
  }
  address.bytes = {};
  if (::inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1) {
    address.version = 6;
    return true;
  }
  return false;
}

Result<NodeNames> NodeNames::Parse(std::string_view text, const std::string& name) {
  NodeNames names;
  size_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    std::istringstream line{std::string(text.substr(0, end))};
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string endpoint, node, rest;
    line >> endpoint >> node >> rest;
    if (endpoint.empty() || endpoint[0] == '#') continue;
    IpAddress address;
    uint16_t port = 0;
    const std::string place = name + ":" + std::to_string(number);
    if (!ParseEndpoint(endpoint, address, port)) {
      return BadInput(place + ": " + endpoint + " is not an address",
                      "a line reads `address[:port] name`, as in 10.0.0.7:8080 shop");
    }
    if (node.empty() || (!rest.empty() && rest[0] != '#')) {
      return BadInput(place + ": an address needs one name, without blanks",
                      "a line reads `address[:port] name`, as in 10.0.0.7:8080 shop");
    }
    names.Add(address, port, node);
  }
  return names;
}

Result<NodeNames> NodeNames::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int code = errno;
    const std::string why = path + ": " + std::strerror(code);
    if (code == ENOENT) return BadInput(why, "check the path");
    return EnvironmentError(why, "check its permissions");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return Parse(text.str(), path);
}

std::string NodeNames::NameOf(const IpAddress& address, uint16_t port) const {
  if (!names_.empty()) {
    auto found = names_.find(KeyOfNode(address, port));
    if (found == names_.end()) found = names_.find(KeyOfNode(address, 0));
    if (found != names_.end()) return found->second;
  }
  return ToString(address);
}

void NodeNames::Add(const IpAddress& address, uint16_t port, std::string_view name) {
  names_.emplace(KeyOfNode(address, port), name);
}

}  // namespace wf::pcap
