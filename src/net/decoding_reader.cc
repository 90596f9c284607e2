#include "net/decoding_reader.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace wf::net {
namespace {

constexpr size_t kInputBytes = 256 * 1024;  // few reads of the file, still in L2

}  // namespace

struct DecodingReader::State {
  explicit State(ChunkSource given) : source(std::move(given)), input(kInputBytes, '\0') {}
  ~State() {
    if (inflating) inflateEnd(&z);
    ZSTD_freeDCtx(zstd);
  }

  Status Fill();
  Status Detect();
  Result<size_t> ReadPlain(char* buffer, size_t size);
  Result<size_t> ReadGzip(char* buffer, size_t size);
  Result<size_t> ReadZstd(char* buffer, size_t size);
  Error Damaged(std::string_view reason) const {
    return BadInput(fmt::format("{} data: {}, near byte {} of the file",
                                CompressionName(compression), reason, consumed - (end - begin)),
                    "check that the file was copied whole");
  }

  ChunkSource source;
  std::string input;
  size_t begin = 0;
  size_t end = 0;
  size_t consumed = 0;
  bool source_ended = false;
  bool detected = false;
  bool between_members = true;  // the data may end here
  Compression compression = Compression::kIdentity;
  bool inflating = false;
  z_stream z{};
  ZSTD_DCtx* zstd = nullptr;
  std::optional<Error> failure;
};

// Makes at least one more byte available unless the source has ended.
Status DecodingReader::State::Fill() {
  if (begin == end) begin = end = 0;
  if (source_ended || end == input.size()) return {};
  WF_ASSIGN(size_t got, source(input.data() + end, input.size() - end));
  source_ended = got == 0;
  end += got;
  consumed += got;
  return {};
}

Status DecodingReader::State::Detect() {
  while (end < 4 && !source_ended) WF_TRY(Fill());
  compression = DetectCompression(std::string_view(input.data(), end));
  if (compression == Compression::kGzip) {
    WF_CHECK(inflateInit2(&z, 15 + 16) == Z_OK);
    inflating = true;
  } else if (compression == Compression::kZstd) {
    zstd = ZSTD_createDCtx();
    WF_CHECK(zstd != nullptr);
  }
  detected = true;
  return {};
}

Result<size_t> DecodingReader::State::ReadPlain(char* buffer, size_t size) {
  if (begin == end) {
    if (source_ended) return size_t{0};
    WF_ASSIGN(size_t got, source(buffer, size));  // no copy once the first bytes are out
    source_ended = got == 0;
    consumed += got;
    return got;
  }
  size_t take = std::min(size, end - begin);
  std::memcpy(buffer, input.data() + begin, take);
  begin += take;
  return take;
}

Result<size_t> DecodingReader::State::ReadGzip(char* buffer, size_t size) {
  size = std::min<size_t>(size, 1u << 30);
  while (true) {
    if (begin == end) WF_TRY(Fill());
    if (begin == end && between_members) return size_t{0};
    z.next_in = reinterpret_cast<unsigned char*>(input.data() + begin);
    z.avail_in = static_cast<uInt>(end - begin);
    z.next_out = reinterpret_cast<unsigned char*>(buffer);
    z.avail_out = static_cast<uInt>(size);
    int code = inflate(&z, Z_NO_FLUSH);
    begin = end - z.avail_in;
    size_t produced = size - z.avail_out;
    between_members = code == Z_STREAM_END;
    if (code == Z_STREAM_END) {
      inflateReset(&z);
    } else if (code == Z_BUF_ERROR) {
      if (begin == end && source_ended) return Damaged("the stream is cut short");
    } else if (code != Z_OK) {
      return Damaged(z.msg != nullptr ? z.msg : "the stream is damaged");
    }
    if (produced > 0) return produced;
  }
}

Result<size_t> DecodingReader::State::ReadZstd(char* buffer, size_t size) {
  while (true) {
    if (begin == end) WF_TRY(Fill());
    if (begin == end && between_members) return size_t{0};
    ZSTD_inBuffer in{input.data(), end, begin};
    ZSTD_outBuffer out{buffer, size, 0};
    size_t left = ZSTD_decompressStream(zstd, &out, &in);
    bool progressed = in.pos != begin || out.pos != 0;
    begin = in.pos;
    if (ZSTD_isError(left)) return Damaged(ZSTD_getErrorName(left));
    between_members = left == 0;
    if (out.pos > 0) return out.pos;
    if (!progressed && begin == end && source_ended && !between_members) {
      return Damaged("the stream is cut short");
    }
  }
}

DecodingReader::DecodingReader(ChunkSource source)
    : state_(std::make_unique<State>(std::move(source))) {}
DecodingReader::~DecodingReader() = default;
DecodingReader::DecodingReader(DecodingReader&&) noexcept = default;
DecodingReader& DecodingReader::operator=(DecodingReader&&) noexcept = default;

Result<size_t> DecodingReader::Read(char* buffer, size_t size) {
  if (state_->failure) return *state_->failure;
  auto attempt = [&]() -> Result<size_t> {
    if (!state_->detected) WF_TRY(state_->Detect());
    switch (state_->compression) {
      case Compression::kGzip:
        return state_->ReadGzip(buffer, size);
      case Compression::kZstd:
        return state_->ReadZstd(buffer, size);
      default:
        return state_->ReadPlain(buffer, size);
    }
  };
  Result<size_t> result = attempt();
  if (!result.ok()) state_->failure = result.error();
  return result;
}

Compression DecodingReader::compression() const { return state_->compression; }
size_t DecodingReader::bytes_consumed() const { return state_->consumed; }

}  // namespace wf::net
