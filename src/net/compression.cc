#include "net/compression.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace wf::net {
namespace {

// zlib counts in uInt, so long inputs are fed in slices.
constexpr size_t kMaxSlice = size_t{1} << 30;
// Deflate cannot expand more than this; bounds what a lying gzip trailer makes us reserve.
constexpr size_t kDeflateMaxRatio = 1032;

struct Inflater {
  z_stream stream{};
  Inflater() { WF_CHECK(inflateInit2(&stream, 15 + 16) == Z_OK); }
  ~Inflater() { inflateEnd(&stream); }
};

struct Deflater {
  z_stream stream{};
  int level = -1;
  ~Deflater() {
    if (level >= 0) deflateEnd(&stream);
  }
  z_stream& Reset(int wanted) {
    if (level == wanted) {
      deflateReset(&stream);
    } else {
      if (level >= 0) deflateEnd(&stream);
      stream = {};
      WF_CHECK(deflateInit2(&stream, wanted, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
      level = wanted;
    }
    return stream;
  }
};

struct ZstdDecoder {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ZstdDecoder() { WF_CHECK(context != nullptr); }
  ~ZstdDecoder() { ZSTD_freeDCtx(context); }
};

struct ZstdEncoder {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZstdEncoder() { WF_CHECK(context != nullptr); }
  ~ZstdEncoder() { ZSTD_freeCCtx(context); }
};

// Makes room for more output: doubles, within max_bytes. False when max_bytes is already full.
bool Grow(std::string* out, size_t max_bytes) {
  if (out->size() >= max_bytes) return false;
  size_t wanted = std::max<size_t>(out->size() * 2, 4096);
  out->resize(std::min(wanted, max_bytes));
  return true;
}

size_t GzipSizeHint(std::string_view bytes) {
  if (bytes.size() < 18) return 0;
  const auto* tail = reinterpret_cast<const unsigned char*>(bytes.data() + bytes.size() - 4);
  return static_cast<size_t>(tail[0]) | static_cast<size_t>(tail[1]) << 8 |
         static_cast<size_t>(tail[2]) << 16 | static_cast<size_t>(tail[3]) << 24;
}

DecodeOutcome Inflate(Compression compression, std::string_view bytes, size_t max_bytes,
                      std::string* out, std::string* reason) {
  thread_local Inflater inflater;
  z_stream& z = inflater.stream;
  int window = 15 + 16;
  if (compression == Compression::kDeflate) {
    // HTTP's "deflate" is zlib's format, but some clients send the bare stream.
    bool zlib_header =
        bytes.size() >= 2 && (bytes[0] & 0x0f) == 8 &&
        ((static_cast<unsigned char>(bytes[0]) << 8) + static_cast<unsigned char>(bytes[1])) % 31 ==
            0;
    window = zlib_header ? 15 : -15;
  }
  inflateReset2(&z, window);

  size_t hint = compression == Compression::kGzip ? GzipSizeHint(bytes) : 0;
  if (hint == 0 || hint / kDeflateMaxRatio > bytes.size()) hint = bytes.size() * 4;
  out->resize(std::min(std::max<size_t>(hint, 64), max_bytes));

  size_t read = 0;
  size_t written = 0;
  while (true) {
    size_t slice = std::min(bytes.size() - read, kMaxSlice);
    size_t room = std::min(out->size() - written, kMaxSlice);
    // A full buffer still needs one call with a spare byte to learn whether the stream ends here.
    unsigned char spare;
    bool probing = room == 0;
    z.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data() + read));
    z.avail_in = static_cast<uInt>(slice);
    z.next_out = probing ? &spare : reinterpret_cast<unsigned char*>(out->data() + written);
    z.avail_out = probing ? 1 : static_cast<uInt>(room);
    uInt out_before = z.avail_out;
    int code = inflate(&z, Z_NO_FLUSH);
    read += slice - z.avail_in;
    size_t produced = out_before - z.avail_out;
    if (probing && produced > 0) {
      if (!Grow(out, max_bytes)) return DecodeOutcome::kTooLarge;
      (*out)[written] = static_cast<char>(spare);
    }
    written += produced;
    if (code == Z_STREAM_END) {
      if (read == bytes.size()) break;
      if (compression != Compression::kGzip) {
        *reason = fmt::format("{} bytes follow the end of the stream", bytes.size() - read);
        return DecodeOutcome::kCorrupt;
      }
      inflateReset(&z);  // the next gzip member
    } else if (code == Z_BUF_ERROR || (code == Z_OK && read == bytes.size() && z.avail_out > 0)) {
      *reason = "the stream is cut short";
      return DecodeOutcome::kCorrupt;
    } else if (code != Z_OK) {
      *reason = z.msg != nullptr ? z.msg : "the stream is damaged";
      return DecodeOutcome::kCorrupt;
    }
  }
  out->resize(written);
  return DecodeOutcome::kOk;
}

DecodeOutcome DecodeZstd(std::string_view bytes, size_t max_bytes, std::string* out,
                         std::string* reason) {
  thread_local ZstdDecoder decoder;
  ZSTD_DCtx_reset(decoder.context, ZSTD_reset_session_only);
  unsigned long long declared = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (declared == ZSTD_CONTENTSIZE_ERROR) {
    *reason = "it does not begin like zstd";
    return DecodeOutcome::kCorrupt;
  }
  // One frame of known size, the usual case, decodes straight into its place.
  if (declared != ZSTD_CONTENTSIZE_UNKNOWN &&
      ZSTD_findFrameCompressedSize(bytes.data(), bytes.size()) == bytes.size()) {
    if (declared > max_bytes) return DecodeOutcome::kTooLarge;
    out->resize(declared);
    size_t size =
        ZSTD_decompressDCtx(decoder.context, out->data(), out->size(), bytes.data(), bytes.size());
    if (ZSTD_isError(size)) {
      *reason = ZSTD_getErrorName(size);
      return DecodeOutcome::kCorrupt;
    }
    out->resize(size);
    return DecodeOutcome::kOk;
  }
  out->resize(std::min(std::max<size_t>(bytes.size() * 4, 64), max_bytes));
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t written = 0;
  while (true) {
    char spare;
    bool probing = written == out->size();
    ZSTD_outBuffer space =
        probing ? ZSTD_outBuffer{&spare, 1, 0} : ZSTD_outBuffer{out->data(), out->size(), written};
    size_t in_before = in.pos;
    size_t left = ZSTD_decompressStream(decoder.context, &space, &in);
    if (ZSTD_isError(left)) {
      *reason = ZSTD_getErrorName(left);
      return DecodeOutcome::kCorrupt;
    }
    size_t produced = probing ? space.pos : space.pos - written;
    if (probing && produced > 0) {
      if (!Grow(out, max_bytes)) return DecodeOutcome::kTooLarge;
      (*out)[written] = spare;
    }
    written += produced;
    if (in.pos < in.size) continue;
    if (left == 0) break;
    if (produced == 0 && in.pos == in_before) {
      *reason = "the stream is cut short";
      return DecodeOutcome::kCorrupt;
    }
  }
  out->resize(written);
  return DecodeOutcome::kOk;
}

}  // namespace

std::optional<Compression> CompressionFromName(std::string_view name) {
  if (name.empty() || name == "identity") return Compression::kIdentity;
  if (name == "gzip" || name == "x-gzip") return Compression::kGzip;
  if (name == "zstd") return Compression::kZstd;
  if (name == "deflate") return Compression::kDeflate;
  return std::nullopt;
}

std::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kIdentity:
      return "identity";
    case Compression::kGzip:
      return "gzip";
    case Compression::kDeflate:
      return "deflate";
    case Compression::kZstd:
      return "zstd";
  }
  return "identity";
}

Compression DetectCompression(std::string_view first_bytes) {
  if (first_bytes.substr(0, 2) == "\x1f\x8b") return Compression::kGzip;
  if (first_bytes.substr(0, 4) == "\x28\xb5\x2f\xfd") return Compression::kZstd;
  return Compression::kIdentity;
}

DecodeOutcome Decompress(Compression compression, std::string_view bytes, size_t max_bytes,
                         std::string* out, std::string* reason) {
  out->clear();
  DecodeOutcome outcome = DecodeOutcome::kOk;
  switch (compression) {
    case Compression::kIdentity:
      if (bytes.size() > max_bytes) {
        outcome = DecodeOutcome::kTooLarge;
      } else {
        out->assign(bytes);
      }
      break;
    case Compression::kGzip:
    case Compression::kDeflate:
      outcome = Inflate(compression, bytes, max_bytes, out, reason);
      break;
    case Compression::kZstd:
      outcome = DecodeZstd(bytes, max_bytes, out, reason);
      break;
  }
  if (outcome == DecodeOutcome::kTooLarge) {
    *reason = fmt::format("it decodes to more than the limit of {} bytes", max_bytes);
  }
  if (outcome != DecodeOutcome::kOk) std::string().swap(*out);  // frees what a bomb filled
  return outcome;
}

Result<std::string> Decompress(Compression compression, std::string_view bytes, size_t max_bytes) {
  std::string out;
  std::string reason;
  DecodeOutcome outcome = Decompress(compression, bytes, max_bytes, &out, &reason);
  if (outcome == DecodeOutcome::kOk) return out;
  return BadInput(
      fmt::format("{} data of {} bytes: {}", CompressionName(compression), bytes.size(), reason),
      outcome == DecodeOutcome::kTooLarge ? "send smaller pieces"
                                          : "compress the data again and resend it");
}

std::string Compress(Compression compression, std::string_view bytes, int level) {
  std::string out;
  if (compression == Compression::kZstd) {
    thread_local ZstdEncoder encoder;
    out.resize(ZSTD_compressBound(bytes.size()));
    size_t size = ZSTD_compressCCtx(encoder.context, out.data(), out.size(), bytes.data(),
                                    bytes.size(), level);
    WF_CHECK(!ZSTD_isError(size));
    out.resize(size);
    return out;
  }
  if (compression == Compression::kDeflate) {
    uLongf size = compressBound(bytes.size());
    out.resize(size);
    WF_CHECK(compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), level) == Z_OK);
    out.resize(size);
    return out;
  }
  if (compression == Compression::kIdentity) return std::string(bytes);

  thread_local Deflater deflater;
  z_stream& z = deflater.Reset(level);
  out.resize(deflateBound(&z, bytes.size()));
  size_t read = 0;
  size_t written = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    size_t slice = std::min(bytes.size() - read, kMaxSlice);
    size_t room = std::min(out.size() - written, kMaxSlice);
    z.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data() + read));
    z.avail_in = static_cast<uInt>(slice);
    z.next_out = reinterpret_cast<unsigned char*>(out.data() + written);
    z.avail_out = static_cast<uInt>(room);
    code = deflate(&z, read + slice == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    WF_CHECK(code == Z_OK || code == Z_STREAM_END);
    read += slice - z.avail_in;
    written += room - z.avail_out;
  }
  out.resize(written);
  return out;
}

}  // namespace wf::net
