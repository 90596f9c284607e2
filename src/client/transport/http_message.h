// HTTP/1.1 messages taken off a buffer: start line, headers, and a body framed by Content-Length,
// chunks or the end of the connection (RFC 9112 §6). Bytes come from the network: sizes are
// limited, anything odd is kMalformed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wherefore::client {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpMessage {
  std::string start_line;
  HttpHeaders headers;  // names in lower case
  std::string body;

  std::string_view Header(std::string_view lower_case_name) const;  // empty if absent
  bool KeepsAlive() const { return Header("connection") != "close"; }
};

enum class HttpKind { kRequest, kResponse };
enum class StreamState { kOpen, kEnded };  // whether the peer may still send bytes
enum class TakeResult { kTaken, kNeedsMore, kMalformed };

constexpr size_t kMaxHttpHead = 16 << 10;
constexpr size_t kMaxHttpBody = 1 << 20;

// Takes one message from the front of `buffer`. On kNeedsMore nothing is taken. Interim responses
// (100–199) are skipped.
TakeResult TakeHttpMessage(HttpKind kind, StreamState stream, std::string& buffer,
                           HttpMessage& message);

}  // namespace wherefore::client
