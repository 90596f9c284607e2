#include "base/ids.h"

#include <cstring>

namespace wf {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendHex(uint64_t value, std::string& out) {
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[(value >> shift) & 15]);
}

// Parses at most `max_digits` digits into hi:lo.
Result<TraceId> ParseHex(std::string_view text, size_t max_digits, const char* what) {
  if (text.empty()) {
    return BadInput(std::string(what) + " is empty",
                    "give up to " + std::to_string(max_digits) + " hexadecimal digits");
  }
  TraceId id;
  for (size_t i = 0; i < text.size(); ++i) {
    const int digit = HexValue(text[i]);
    if (digit < 0) {
      return BadInput(std::string(what) + " \"" + std::string(text.substr(0, 64)) +
                          "\": character " + std::to_string(i + 1) + " is not a hexadecimal digit",
                      "ids are up to " + std::to_string(max_digits) + " digits of 0-9 and a-f");
    }
    if (i >= max_digits) {
      return BadInput(std::string(what) + " \"" + std::string(text.substr(0, 64)) +
                          "\" is longer than " + std::to_string(max_digits) +
                          " digits (character " + std::to_string(i + 1) + ")",
                      "ids are up to " + std::to_string(max_digits) + " digits of 0-9 and a-f");
    }
    id.hi = (id.hi << 4) | (id.lo >> 60);
    id.lo = (id.lo << 4) | static_cast<uint64_t>(digit);
  }
  return id;
}

}  // namespace

uint64_t LoadBigEndian64(const void* bytes) {
  uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return __builtin_bswap64(value);
}

void StoreBigEndian64(uint64_t value, void* bytes) {
  value = __builtin_bswap64(value);
  std::memcpy(bytes, &value, sizeof value);
}

TraceId TraceIdFromBytes(const void* bytes) {
  return {LoadBigEndian64(bytes), LoadBigEndian64(static_cast<const char*>(bytes) + 8)};
}

SpanId SpanIdFromBytes(const void* bytes) { return {LoadBigEndian64(bytes)}; }

std::string ToHex(TraceId id) {
  std::string out;
  out.reserve(32);
  AppendHex(id.hi, out);
  AppendHex(id.lo, out);
  return out;
}

std::string ToHex64(uint64_t value) {
  std::string out;
  out.reserve(16);
  AppendHex(value, out);
  return out;
}

std::string ToHex(SpanId id) { return ToHex64(id.value); }

Result<TraceId> ParseTraceId(std::string_view text) { return ParseHex(text, 32, "trace id"); }

Result<SpanId> ParseSpanId(std::string_view text) {
  auto id = ParseHex(text, 16, "span id");
  if (!id.ok()) return id.error();
  return SpanId{id->lo};
}

}  // namespace wf
