#include "answer/value_json.h"

namespace wf {

void WriteTypedValue(const Value& value, JsonWriter& out) {
  switch (value.type) {
    case ValueType::kNull:
      out.Null();
      return;
    case ValueType::kString:
      out.String(value.text);
      return;
    case ValueType::kBool:
      out.Bool(value.boolean);
      return;
    case ValueType::kInt:
      out.Int(value.integer);
      return;
    case ValueType::kDouble:
      out.Double(value.number);
      return;
    case ValueType::kBytes:
      out.BeginObject().Field("bytes", Base64(value.text)).EndObject();
      return;
    case ValueType::kArray: {
      out.BeginArray();
      ArrayReader reader(value.text);
      Value element;
      while (reader.Next(element)) WriteTypedValue(element, out);
      out.EndArray();
      return;
    }
    case ValueType::kMap: {
      out.BeginObject();
      MapReader reader(value.text);
      std::string_view key;
      Value element;
      while (reader.Next(key, element)) {
        out.Key(key);
        WriteTypedValue(element, out);
      }
      out.EndObject();
      return;
    }
  }
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = bytes.size() - i;
    const auto byte = [&](size_t k) { return k < n ? static_cast<uint8_t>(bytes[i + k]) : 0u; };
    const uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out.push_back(kDigits[group >> 18]);
    out.push_back(kDigits[group >> 12 & 63]);
    out.push_back(n > 1 ? kDigits[group >> 6 & 63] : '=');
    out.push_back(n > 2 ? kDigits[group & 63] : '=');
  }
  return out;
}

}  // namespace wf
