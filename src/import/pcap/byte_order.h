// Numbers in network byte order. The caller checks that there are enough bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wf::pcap {

inline uint8_t Read8(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }
inline uint16_t Read16(std::string_view bytes, size_t at) {
  return static_cast<uint16_t>(Read8(bytes, at) << 8 | Read8(bytes, at + 1));
}
inline uint32_t Read32(std::string_view bytes, size_t at) {
  return static_cast<uint32_t>(Read16(bytes, at)) << 16 | Read16(bytes, at + 2);
}
inline uint64_t Read64(std::string_view bytes, size_t at) {
  return static_cast<uint64_t>(Read32(bytes, at)) << 32 | Read32(bytes, at + 4);
}

inline void Put8(uint64_t value, std::string& out) { out.push_back(static_cast<char>(value)); }
inline void Put16(uint64_t value, std::string& out) {
  Put8(value >> 8, out);
  Put8(value, out);
}
inline void Put32(uint64_t value, std::string& out) {
  Put16(value >> 16, out);
  Put16(value, out);
}
inline void Put64(uint64_t value, std::string& out) {
  Put32(value >> 32, out);
  Put32(value, out);
}

}  // namespace wf::pcap
