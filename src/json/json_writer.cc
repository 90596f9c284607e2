#include "json/json_writer.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>

#include "base/utf8.h"

namespace wf {

struct JsonWriter::Impl {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
};

JsonWriter::JsonWriter() : impl_(std::make_unique<Impl>()) {}
JsonWriter::~JsonWriter() = default;

JsonWriter& JsonWriter::BeginObject() { return impl_->writer.StartObject(), *this; }
JsonWriter& JsonWriter::EndObject() { return impl_->writer.EndObject(), *this; }
JsonWriter& JsonWriter::BeginArray() { return impl_->writer.StartArray(), *this; }
JsonWriter& JsonWriter::EndArray() { return impl_->writer.EndArray(), *this; }

JsonWriter& JsonWriter::Key(std::string_view key) { return String(key); }

JsonWriter& JsonWriter::String(std::string_view text) {
  if (IsUtf8(text)) {
    impl_->writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  } else {
    const std::string repaired = RepairUtf8(text);
    impl_->writer.String(repaired.data(), static_cast<rapidjson::SizeType>(repaired.size()));
  }
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t value) { return impl_->writer.Int64(value), *this; }
JsonWriter& JsonWriter::Uint(uint64_t value) { return impl_->writer.Uint64(value), *this; }
JsonWriter& JsonWriter::Bool(bool value) { return impl_->writer.Bool(value), *this; }
JsonWriter& JsonWriter::Null() { return impl_->writer.Null(), *this; }

JsonWriter& JsonWriter::Double(double value) {
  if (std::isnan(value)) return String("NaN");
  if (std::isinf(value)) return String(value > 0 ? "Infinity" : "-Infinity");
  impl_->writer.Double(value);
  return *this;
}

JsonWriter& JsonWriter::Raw(std::string_view json) {
  impl_->writer.RawValue(json.data(), json.size(), rapidjson::kObjectType);
  return *this;
}

std::string JsonWriter::Take() {
  std::string out(impl_->buffer.GetString(), impl_->buffer.GetSize());
  impl_->buffer.Clear();
  impl_->writer.Reset(impl_->buffer);
  return out;
}

}  // namespace wf
