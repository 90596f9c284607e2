// Trace and span ids. On the wire and on screen they are lower-case hex, 32 and 16 digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wf {

struct TraceId {
  uint64_t hi = 0;
  uint64_t lo = 0;
  bool zero() const { return hi == 0 && lo == 0; }
  bool operator==(const TraceId& o) const { return hi == o.hi && lo == o.lo; }
  bool operator!=(const TraceId& o) const { return !(*this == o); }
  bool operator<(const TraceId& o) const { return hi != o.hi ? hi < o.hi : lo < o.lo; }
};

struct SpanId {
  uint64_t value = 0;
  bool zero() const { return value == 0; }
  bool operator==(const SpanId& o) const { return value == o.value; }
  bool operator!=(const SpanId& o) const { return value != o.value; }
  bool operator<(const SpanId& o) const { return value < o.value; }
};

// Big-endian bytes as OTLP carries them.
TraceId TraceIdFromBytes(const void* sixteen_bytes);
SpanId SpanIdFromBytes(const void* eight_bytes);
uint64_t LoadBigEndian64(const void* bytes);
void StoreBigEndian64(uint64_t value, void* bytes);

std::string ToHex(TraceId id);  // 32 digits
std::string ToHex(SpanId id);   // 16 digits
std::string ToHex64(uint64_t value);

// Shorter text is zero-padded on the left; upper case is accepted. An empty, too long or non-hex text is an error
// that names the place of the first bad character (counted from 1).
Result<TraceId> ParseTraceId(std::string_view text);
Result<SpanId> ParseSpanId(std::string_view text);

}  // namespace wf

template <>
struct std::hash<wf::TraceId> {
  size_t operator()(const wf::TraceId& id) const noexcept {
    return static_cast<size_t>(id.lo ^ (id.hi * 0x9E3779B97F4A7C15ull));
  }
};
template <>
struct std::hash<wf::SpanId> {
  size_t operator()(const wf::SpanId& id) const noexcept {
    return static_cast<size_t>(id.value * 0x9E3779B97F4A7C15ull);
  }
};
