// gRPC framing and status details: any bytes, fed in any pieces, end in the same state as fed whole.
#include <cstdint>
#include <string>

#include "base/base64.h"
#include "base/check.h"
#include "net/grpc_message.h"

using wf::net::GrpcMessageReader;

namespace {

constexpr uint32_t kLimit = 1 << 20;

void Feed(GrpcMessageReader& reader, std::string_view bytes, size_t piece) {
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, piece);
    size_t used = reader.Feed(part);
    WF_CHECK(used <= part.size());
    WF_CHECK(reader.message().size() <= reader.size());
    if (used == 0 || reader.size() > kLimit) return;
    bytes.remove_prefix(used);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  size_t piece = data[0] % 16 + 1;
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  GrpcMessageReader whole;
  GrpcMessageReader pieces;
  Feed(whole, bytes, bytes.size());
  Feed(pieces, bytes, piece);
  WF_CHECK(whole.state() == pieces.state());
  WF_CHECK(whole.message() == pieces.message());

  std::string text(bytes);
  WF_CHECK(wf::net::DecodeGrpcText(wf::net::EncodeGrpcText(text)) == text);
  WF_CHECK(wf::Base64Decode(wf::Base64Encode(text, wf::Base64Padding::kNone)) == text);
  (void)wf::net::DecodeGrpcText(text);
  (void)wf::net::DecodeRetryDetails(text);
  (void)wf::net::DecodeRetryDetails(wf::Base64Encode(text));
  return 0;
}
