// gzip, zlib ("deflate") and zstd, of whole bodies. Any thread; each thread keeps its own codec
// state and reuses it, because setting up a z_stream or a ZSTD_DCtx costs more than decoding a
// small body.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf::net {

enum class Compression { kIdentity, kGzip, kDeflate, kZstd };

// The names of HTTP's Content-Encoding and gRPC's grpc-encoding; "" is identity, nullopt is one we
// cannot decode.
std::optional<Compression> CompressionFromName(std::string_view name);
std::string_view CompressionName(Compression compression);

// By magic bytes; kIdentity when none matches. Two bytes suffice for gzip, four for zstd. Never
// kDeflate: the two bytes that open a zlib stream also open plain text.
Compression DetectCompression(std::string_view first_bytes);

enum class DecodeOutcome { kOk, kCorrupt, kTooLarge };

// Replaces *out by the decoded bytes. Never holds more than max_bytes of output, whatever the input
// claims. On failure *out is empty and *reason says what is wrong. Several gzip members or zstd
// frames in a row are one body.
DecodeOutcome Decompress(Compression compression, std::string_view bytes, size_t max_bytes,
                         std::string* out, std::string* reason);

// The same as a Result: BadInput that names the reason, and the limit when that was passed.
Result<std::string> Decompress(Compression compression, std::string_view bytes, size_t max_bytes);

// Level 1 is zlib's fastest, and within a fifth of level 6's size on JSON; zstd uses the same
// number.
std::string Compress(Compression compression, std::string_view bytes, int level = 1);

}  // namespace wf::net
