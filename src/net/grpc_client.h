// A small blocking gRPC client over HTTP/2, plain or TLS: unary calls on one connection, several at once if
// needed. For load generators, the demo and tests. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "net/compression.h"
#include "net/grpc_message.h"

namespace wf::net {

struct GrpcClientOptions {
  Nanos connect_timeout = 5 * kSecond;
  Nanos timeout = 30 * kSecond;  // without progress
  size_t max_message_bytes = size_t{256} << 20;
  bool tls = false;
  std::string ca_file;           // PEM; empty: the system's roots
  std::string certificate_file;  // PEM, ours, for servers that require one
  std::string key_file;          // PEM; empty: in certificate_file
};

struct GrpcCallOptions {
  Compression encoding = Compression::kIdentity;
  std::vector<std::pair<std::string, std::string>> metadata;  // lower-case names
};

struct GrpcAnswer {
  int code = -1;  // grpc-status
  std::string message;
  std::string reply;
  std::optional<Nanos> retry_delay;
};

class GrpcClient {
 public:
  static Result<GrpcClient> Connect(const std::string& host, uint16_t port,
                                    const GrpcClientOptions& options = {});
  ~GrpcClient();
  GrpcClient(GrpcClient&&) noexcept;
  GrpcClient& operator=(GrpcClient&&) noexcept;

  // Any grpc-status is a success here. An error means that the connection failed and is unusable.
  Result<GrpcAnswer> Call(std::string_view path, std::string_view message,
                          const GrpcCallOptions& options = {});

  // Call in two steps. Start queues the call and returns its id; Wait moves bytes until that call is
  // answered. Call Wait once for each started call.
  Result<int32_t> Start(std::string_view path, std::string_view message,
                        const GrpcCallOptions& options = {});
  Result<GrpcAnswer> Wait(int32_t call);

 private:
  struct State;
  explicit GrpcClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace wf::net
