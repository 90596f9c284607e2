// The parts of gRPC that are not HTTP/2: message framing, status text, status details. Pure
// functions and one small parser, so that they can be fuzzed without a socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/nanos.h"

namespace wf::net {

// The codes of gRPC that we use by name; any other may be carried as a number.
enum GrpcCode : int {
  kGrpcOk = 0,
  kGrpcInvalidArgument = 3,
  kGrpcDeadlineExceeded = 4,
  kGrpcPermissionDenied = 7,
  kGrpcResourceExhausted = 8,
  kGrpcUnimplemented = 12,
  kGrpcInternal = 13,
  kGrpcUnavailable = 14,
  kGrpcUnauthenticated = 16,
};

// Reads the bytes of a unary call as they arrive and returns its one message: a flag byte, a big-endian
// length of four bytes, the message.
class GrpcMessageReader {
 public:
  enum class State {
    kHead,      // the five bytes are not complete
    kMessage,   // the head is complete: size() is known
    kComplete,  // the message is complete
    kBadFlag,   // the flag is neither 0 nor 1
    kTrailing,  // bytes follow the one message of a unary call
  };

  // Consumes bytes up to the next state change and returns how many. The caller checks state() in between,
  // and may check size() before any of the message is stored.
  size_t Feed(std::string_view bytes);

  State state() const { return state_; }
  bool compressed() const { return head_[0] == 1; }
  uint32_t size() const { return size_; }
  std::string& message() { return message_; }

 private:
  State state_ = State::kHead;
  unsigned char head_[5] = {};
  size_t head_bytes_ = 0;
  uint32_t size_ = 0;
  std::string message_;
};

// The five bytes before a message.
enum class GrpcCompressed { kNo, kYes };
std::string GrpcMessageHead(GrpcCompressed compressed, size_t size);

// grpc-message: bytes outside printable ASCII, and %, are written as %XX. Decoding never fails: text that is
// not an escape stays as it is.
std::string EncodeGrpcText(std::string_view text);
std::string DecodeGrpcText(std::string_view text);

// grpc-status-details-bin: base64, without padding, of a google.rpc.Status that holds a
// google.rpc.RetryInfo.
std::string EncodeRetryDetails(int code, std::string_view message, Nanos delay);
std::optional<Nanos> DecodeRetryDetails(std::string_view base64);

}  // namespace wf::net
