// WatchedHost: what this machine knows about a process and its sockets, looked up when a descriptor is first
// used. An interface, so that the making of messages can be tested without a kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace wf::watch {

struct SocketFacts {
  enum class Kind : uint8_t { kTcp, kUnix } kind = Kind::kTcp;
  // kTcp: "10.0.0.1:80", "[fd00::1]:80"; IPv4 addresses mapped into IPv6 are reported as IPv4.
  std::string local, peer;
  uint16_t local_port = 0, peer_port = 0;
  // A process there listens at the local port, so it is likely the server's end.
  bool listens = false;
  uint32_t peer_process = 0;  // kUnix: the process that made the other end; 0: unknown
};

class WatchedHost {
 public:
  virtual ~WatchedHost() = default;
  // Empty: not a connected stream socket, or gone.
  virtual std::optional<SocketFacts> Socket(uint32_t process, int fd) = 0;
  // The name of the process: that of its main thread. Empty if it has ended.
  virtual std::string ProcessName(uint32_t process) = 0;
  // Its program's file; empty if unknown.
  virtual std::string ProgramFile(uint32_t process) = 0;

  static std::unique_ptr<WatchedHost> ThisOne();
};

// The address in front of the port.
std::string AddressOf(const std::string& endpoint);

}  // namespace wf::watch
