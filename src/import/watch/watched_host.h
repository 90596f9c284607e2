// WatchedHost: what this machine tells of a process and its sockets, asked when a descriptor is first seen to be used.
// An interface, so that the making of messages can be tested without a kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace wf::watch {

struct SocketFacts {
  enum class Kind : uint8_t { kTcp, kUnix } kind = Kind::kTcp;
  // kTcp: "10.0.0.1:80", "[fd00::1]:80"; IPv4 addresses mapped into IPv6 are told as IPv4.
  std::string local, peer;
  uint16_t local_port = 0, peer_port = 0;
  bool listens =
      false;  // somebody there listens at the local port, so it is likely the server's end
  uint32_t peer_process = 0;  // kUnix: who made the other end; 0: unknown
};

class WatchedHost {
 public:
  virtual ~WatchedHost() = default;
  // Nothing: not a connected stream socket, or gone.
  virtual std::optional<SocketFacts> Socket(uint32_t process, int fd) = 0;
  // What the process is called: the name of its program's main thread. Empty when it has gone.
  virtual std::string ProcessName(uint32_t process) = 0;
  // Its program's file; empty when it cannot be told.
  virtual std::string ProgramFile(uint32_t process) = 0;

  static std::unique_ptr<WatchedHost> ThisOne();
};

// The address in front of the port.
std::string AddressOf(const std::string& endpoint);

}  // namespace wf::watch
