// HPACK (RFC 7541), by nghttp2: decodes HTTP/2 headers that another program sent. Blocks must be decoded in
// the order they were sent; after a missing block nothing can be decoded. Thread safety: none.
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
  // Decodes one whole header block. False: it is malformed, and nothing more can be decoded.
  bool Decode(std::string_view block, Headers& headers);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::net
