#include "recorder/reader/lz4_block.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace wf::recorder {
namespace {

class Block {
 public:
  explicit Block(std::string_view bytes) : bytes_(bytes) {}

  size_t left() const { return bytes_.size() - at_; }
  uint8_t Byte() { return static_cast<uint8_t>(bytes_[at_++]); }
  const char* Take(size_t count) {
    const char* const from = bytes_.data() + at_;
    at_ += count;
    return from;
  }
  // A nibble of 15 is continued by bytes that are added up until one is not 255.
  std::optional<size_t> Length(size_t nibble, size_t most) {
    size_t length = nibble;
    if (nibble < 15) return length;
    uint8_t more = 255;
    while (more == 255) {
      if (left() == 0 || length > most) return std::nullopt;
      more = Byte();
      length += more;
    }
    return length;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

}  // namespace

bool DecodeLz4Block(std::string_view text, size_t size, std::string& out) {
  out.resize(size);
  Block block(text);
  size_t done = 0;
  while (block.left() > 0) {
    const uint8_t token = block.Byte();
    const auto literals = block.Length(token >> 4, size);
    if (!literals || *literals > block.left() || *literals > size - done) return false;
    if (*literals > 0) std::memcpy(out.data() + done, block.Take(*literals), *literals);
    done += *literals;
    if (block.left() == 0) return done == size;  // the last sequence has no copy
    if (block.left() < 2) return false;
    const size_t low = block.Byte();
    const size_t distance = low | static_cast<size_t>(block.Byte()) << 8;
    const auto copied = block.Length(token & 15, size);
    if (!copied || distance == 0 || distance > done) return false;
    const size_t count = *copied + 4;
    if (count > size - done) return false;
    const char* const from = out.data() + done - distance;
    if (distance >= count) {
      std::memcpy(out.data() + done, from, count);
    } else {  // overlapping: what is copied is copied again
      for (size_t i = 0; i < count; ++i) out[done + i] = from[i];
    }
    done += count;
  }
  return false;  // a block ends with literals
}

}  // namespace wf::recorder
