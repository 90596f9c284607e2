// Decoding any bytes as any format stays within its limit; the piecewise reader agrees with the whole-body decoder.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "net/compression.h"
#include "net/decoding_reader.h"

using wf::Result;
using wf::net::Compression;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  constexpr size_t kLimit = 1 << 20;
  auto format = static_cast<Compression>(data[0] % 4);
  size_t piece = data[1] + 1u;
  std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  Result<std::string> whole = wf::net::Decompress(format, bytes, kLimit);
  WF_CHECK(!whole.ok() || whole->size() <= kLimit);

  if (format == Compression::kIdentity || format == Compression::kDeflate) return 0;
  if (wf::net::DetectCompression(bytes) != format) return 0;
  size_t at = 0;
  wf::net::DecodingReader reader([&](char* buffer, size_t room) -> Result<size_t> {
    size_t take = std::min({room, piece, bytes.size() - at});
    std::memcpy(buffer, bytes.data() + at, take);
    at += take;
    return take;
  });
  std::string all;
  char buffer[977];
  while (all.size() <= kLimit) {
    Result<size_t> got = reader.Read(buffer, sizeof buffer);
    if (!got.ok()) {
      WF_CHECK(!whole.ok());
      return 0;
    }
    if (*got == 0) break;
    all.append(buffer, *got);
  }
  WF_CHECK(whole.ok() ? all == *whole : all.size() > kLimit);
  return 0;
}
