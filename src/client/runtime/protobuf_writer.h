// The few protobuf encodings that OTLP needs, appended to a string. Field numbers come from OTLP's .proto files.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace wherefore::client {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

inline void AppendVarint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

inline void AppendTag(uint32_t field, WireType type, std::string& out) {
  AppendVarint(field << 3 | static_cast<uint32_t>(type), out);
}

inline void AppendVarintField(uint32_t field, uint64_t value, std::string& out) {
  AppendTag(field, WireType::kVarint, out);
  AppendVarint(value, out);
}

inline void AppendFixed64Field(uint32_t field, uint64_t value, std::string& out) {
  AppendTag(field, WireType::kFixed64, out);
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

inline void AppendFixed32Field(uint32_t field, uint32_t value, std::string& out) {
  AppendTag(field, WireType::kFixed32, out);
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

inline void AppendDoubleField(uint32_t field, double value, std::string& out) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  AppendFixed64Field(field, bits, out);
}

inline void AppendBytesField(uint32_t field, std::string_view bytes, std::string& out) {
  AppendTag(field, WireType::kBytes, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes);
}

// A protobuf string must be UTF-8, or a receiver refuses the whole batch: bad bytes become U+FFFD.
void AppendTextField(uint32_t field, std::string_view text, std::string& out);

}  // namespace wherefore::client
