#include "model/packed.h"

#include <fmt/format.h>

namespace wf {

bool PackedReader::Varint(uint64_t& out) { return TakeVarint(rest_, out) || Fail(); }

bool PackedReader::Bytes(size_t n, std::string_view& out) {
  if (n > rest_.size()) return Fail();
  out = rest_.substr(0, n);
  rest_.remove_prefix(n);
  return true;
}

bool PackedReader::Fixed64(uint64_t& out) {
  std::string_view raw;
  if (!Bytes(8, raw)) return false;
  std::memcpy(&out, raw.data(), 8);
  return true;
}

bool PackedReader::ReadValue(Value& out) {
  std::string_view raw;
  uint64_t bits = 0;
  if (!Bytes(1, raw)) return false;
  out = Value{};
  out.type = static_cast<ValueType>(raw[0]);
  switch (out.type) {
    case ValueType::kNull:
      return true;
    case ValueType::kBool:
      if (!Bytes(1, raw)) return false;
      out.boolean = raw[0] != 0;
      return true;
    case ValueType::kInt:
      if (!Varint(bits)) return false;
      out.integer = UnZigZag(bits);
      return true;
    case ValueType::kDouble:
      if (!Fixed64(bits)) return false;
      std::memcpy(&out.number, &bits, 8);
      return true;
    case ValueType::kString:
    case ValueType::kBytes:
    case ValueType::kArray:
    case ValueType::kMap:
      return Varint(bits) && Bytes(bits, out.text);
  }
  return Fail();
}

bool AttributeReader::Next(uint32_t& key_code, Value& value) {
  if (done()) return false;
  uint64_t key;
  if (!Varint(key) || !ReadValue(value)) return false;
  key_code = static_cast<uint32_t>(key);
  return true;
}

bool ArrayReader::Next(Value& value) { return !done() && ReadValue(value); }

bool MapReader::Next(std::string_view& key, Value& value) {
  uint64_t length;
  return !done() && Varint(length) && Bytes(length, key) && ReadValue(value);
}

bool PointReader::Next(PackedPoint& point) {
  if (done()) return false;
  uint64_t time, name, length;
  if (!Fixed64(time) || !Varint(name) || !Varint(length) || !Bytes(length, point.attrs))
    return false;
  point.time_ns = static_cast<Nanos>(time);
  point.name = static_cast<uint32_t>(name);
  return true;
}

bool LinkReader::Next(PackedLink& link) {
  if (done()) return false;
  uint64_t flags, tracestate, length;
  std::string_view ref;
  if (!Fixed64(link.trace_id.hi) || !Fixed64(link.trace_id.lo) || !Fixed64(link.span_id.value) ||
      !Bytes(1, ref) || !Varint(flags) || !Varint(tracestate) || !Varint(length) ||
      !Bytes(length, link.attrs)) {
    return false;
  }
  link.ref = static_cast<uint8_t>(ref[0]);
  link.flags = static_cast<uint32_t>(flags);
  link.tracestate = static_cast<uint32_t>(tracestate);
  return true;
}

void PutValue(const Value& value, std::string& out) {
  switch (value.type) {
    case ValueType::kNull:
      out.push_back(0);
      return;
    case ValueType::kBool:
      PutBool(value.boolean, out);
      return;
    case ValueType::kInt:
      PutInt(value.integer, out);
      return;
    case ValueType::kDouble:
      PutDouble(value.number, out);
      return;
    default:
      PutString(value.text, out, value.type);
  }
}

void PutPoint(const PackedPoint& point, std::string& out) {
  PutFixed64(static_cast<uint64_t>(point.time_ns), out);
  PutVarint(point.name, out);
  PutVarint(point.attrs.size(), out);
  out.append(point.attrs);
}

void PutLink(const PackedLink& link, std::string& out) {
  PutFixed64(link.trace_id.hi, out);
  PutFixed64(link.trace_id.lo, out);
  PutFixed64(link.span_id.value, out);
  out.push_back(static_cast<char>(link.ref));
  PutVarint(link.flags, out);
  PutVarint(link.tracestate, out);
  PutVarint(link.attrs.size(), out);
  out.append(link.attrs);
}

std::string ValueText(const Value& value) {
  switch (value.type) {
    case ValueType::kNull:
      return "";
    case ValueType::kString:
      return std::string(value.text);
    case ValueType::kBool:
      return value.boolean ? "true" : "false";
    case ValueType::kInt:
      return std::to_string(value.integer);
    case ValueType::kDouble:
      return fmt::format("{}", value.number);
    case ValueType::kBytes: {
      std::string hex;
      for (unsigned char c : value.text) hex += fmt::format("{:02x}", c);
      return hex;
    }
    case ValueType::kArray: {
      std::string out = "[";
      ArrayReader reader(value.text);
      Value element;
      while (reader.Next(element)) {
        if (out.size() > 1) out += ",";
        out += ValueText(element);
      }
      return out + "]";
    }
    case ValueType::kMap: {
      std::string out = "{";
      MapReader reader(value.text);
      std::string_view key;
      Value element;
      while (reader.Next(key, element)) {
        if (out.size() > 1) out += ",";
        out.append(key).append("=").append(ValueText(element));
      }
      return out + "}";
    }
  }
  return "";
}

}  // namespace wf
