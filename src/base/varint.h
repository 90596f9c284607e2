// Unsigned numbers in 7 bits a byte, lowest first, as protobuf writes them. The advice and the recorder have their own:
// they run in other people's programs and write into buffers of a fixed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wf {

constexpr size_t kMaxVarintBytes = 10;  // of 64 bits

inline void PutVarint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// Takes a number off the front. False: the bytes end within it, or it is longer than kMaxVarintBytes; then what was
// looked at is taken off, too.
inline bool TakeVarint(std::string_view& bytes, uint64_t& out) {
  out = 0;
  size_t at = 0;
  while (at < bytes.size() && at < kMaxVarintBytes) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    out |= static_cast<uint64_t>(byte & 0x7F) << (7 * at);
    ++at;
    if (byte < 0x80) {
      bytes.remove_prefix(at);
      return true;
    }
  }
  bytes.remove_prefix(at);
  return false;
}

inline uint64_t ZigZag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
inline int64_t UnZigZag(uint64_t v) {
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

}  // namespace wf
