// HPACK (RFC 7541), by nghttp2: the headers of HTTP/2 that someone else sent. Blocks must come in the order they were
// sent, all of them; after a lost one nothing can be decoded.
// Thread safety: none.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wf::net {

class HpackDecoder {
 public:
  HpackDecoder();
  ~HpackDecoder();
  HpackDecoder(const HpackDecoder&) = delete;
  HpackDecoder& operator=(const HpackDecoder&) = delete;

  using Headers = std::vector<std::pair<std::string, std::string>>;
  // One whole header block. False: it makes no sense; nothing more can be decoded.
  bool Decode(std::string_view block, Headers& headers);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::net
