// The packed form of typed attribute values, span events (points) and links inside EventBatch::bytes.
//
//   attributes := { key:varint(string code) value }*
//   value      := type:u8 payload
//     null           –
//     string, bytes  varint length, bytes
//     bool           u8
//     int            zigzag varint
//     double         8 bytes, little endian
//     array          varint length of what follows, value*
//     map            varint length of what follows, { varint length, key bytes, value }*
//   points     := { time:8 bytes  name:varint(code)  varint length, attributes }*
//   links      := { trace id:16 bytes  span id:8 bytes  ref:u8  flags:varint  tracestate:varint(code)
//                   varint length, attributes }*
// Ids and times are little-endian. Writers are trusted (our own decoders); readers still check every length, because
// the same bytes come back from disk.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/nanos.h"
#include "base/varint.h"

namespace wf {

enum class ValueType : uint8_t { kNull = 0, kString, kBool, kInt, kDouble, kBytes, kArray, kMap };

// A borrowed value: text points into the batch's arena.
struct Value {
  ValueType type = ValueType::kNull;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::string_view text;  // string and bytes: the content; array and map: the packed elements
};

inline void PutFixed64(uint64_t value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), 8);
}

inline void PutString(std::string_view text, std::string& out,
                      ValueType type = ValueType::kString) {
  out.push_back(static_cast<char>(type));
  PutVarint(text.size(), out);
  out.append(text);
}
inline void PutInt(int64_t value, std::string& out) {
  out.push_back(static_cast<char>(ValueType::kInt));
  PutVarint(ZigZag(value), out);
}
inline void PutBool(bool value, std::string& out) {
  out.push_back(static_cast<char>(ValueType::kBool));
  out.push_back(value ? 1 : 0);
}
inline void PutDouble(double value, std::string& out) {
  out.push_back(static_cast<char>(ValueType::kDouble));
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  PutFixed64(bits, out);
}
void PutValue(const Value& value, std::string& out);

// Reads one after another; Next returns false at the end or at the first malformed byte (then bad() is true).
class PackedReader {
 public:
  explicit PackedReader(std::string_view packed) : rest_(packed) {}
  bool bad() const { return bad_; }
  bool done() const { return rest_.empty() || bad_; }

 protected:
  bool Varint(uint64_t& out);
  bool Bytes(size_t n, std::string_view& out);
  bool Fixed64(uint64_t& out);
  bool ReadValue(Value& out);
  bool Fail() {
    bad_ = true;
    return false;
  }
  std::string_view rest_;
  bool bad_ = false;
};

class AttributeReader : public PackedReader {
 public:
  using PackedReader::PackedReader;
  bool Next(uint32_t& key_code, Value& value);
};

class ArrayReader : public PackedReader {
 public:
  using PackedReader::PackedReader;
  bool Next(Value& value);
};

class MapReader : public PackedReader {
 public:
  using PackedReader::PackedReader;
  bool Next(std::string_view& key, Value& value);
};

struct PackedPoint {
  Nanos time_ns = 0;
  uint32_t name = 0;
  std::string_view attrs;
};
class PointReader : public PackedReader {
 public:
  using PackedReader::PackedReader;
  bool Next(PackedPoint& point);
};

struct PackedLink {
  TraceId trace_id;
  SpanId span_id;
  uint8_t ref = 0;  // ParentRef: kNone for a plain link
  uint32_t flags = 0;
  uint32_t tracestate = 0;
  std::string_view attrs;
};
class LinkReader : public PackedReader {
 public:
  using PackedReader::PackedReader;
  bool Next(PackedLink& link);
};

// Writing points and links: `attrs` are packed attributes.
void PutPoint(const PackedPoint& point, std::string& out);
void PutLink(const PackedLink& link, std::string& out);

// For people and for search: the text of a value as one would type it ("200", "true", "[1,2]").
std::string ValueText(const Value& value);

}  // namespace wf
