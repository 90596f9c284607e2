// LEB128, as protobuf has it. Readers take from the front of a view, and say no at its end.
#pragma once

#include <cstdint>
#include <string_view>

namespace wherefore::client {

constexpr size_t kMaxVarint = 10;

inline size_t VarintSize(uint64_t value) {
  return value < 0x80 ? 1 : static_cast<size_t>(70 - __builtin_clzll(value)) / 7;
}

inline char* PutVarint(uint64_t value, char* at) {
  while (value >= 0x80) {
    *at++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<char>(value);
  return at;
}

inline bool TakeVarint(std::string_view& from, uint64_t& value) {
  if (!from.empty() && static_cast<unsigned char>(from[0]) < 0x80) {  // nearly all
    value = static_cast<unsigned char>(from[0]);
    from.remove_prefix(1);
    return true;
  }
  value = 0;
  for (size_t i = 0; i < from.size() && i < kMaxVarint; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    if (i == 9 && byte > 1) return false;
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      from.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

inline uint64_t ZigZag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace wherefore::client
