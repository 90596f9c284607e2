// Internal to the clients: one blocking TCP connection, with TLS if requested. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::net {

struct SocketOptions {
  Nanos connect_timeout = 5 * kSecond;
  Nanos timeout = 30 * kSecond;  // without progress, for each read and write
  bool tls = false;
  std::string ca_file;           // PEM; empty: the system's roots
  std::string certificate_file;  // PEM, ours, for servers that require one; with its key
  std::string key_file;
  // PEM. If set, the server must present exactly this certificate, whatever its issuer and name.
  std::string pinned_file;
  std::string protocol;  // offered by ALPN: "h2"; empty: none
};

class SocketStream {
 public:
  static Result<SocketStream> Connect(const std::string& host, uint16_t port,
                                      const SocketOptions& options);
  SocketStream(SocketStream&&) noexcept;
  SocketStream& operator=(SocketStream&&) noexcept;
  ~SocketStream();

  // Writes `first`, then `second`, completely; in one system call when the kernel has room.
  Status Write(std::string_view first, std::string_view second = {});
  // At least one byte; 0 at the end of the stream.
  Result<size_t> Read(char* buffer, size_t size);
  // Whether Read would return at once. Waits up to this long, or until a signal arrives.
  Result<bool> AwaitReadable(Nanos wait);
  void ShutdownWrite();

 private:
  struct State;
  explicit SocketStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace wf::net
