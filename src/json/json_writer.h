// JsonWriter: JSON text out, keys in the order they are written, 64-bit integers exact, doubles shortest round trip.
// A thin face over RapidJSON's writer, so that its headers stay in this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wf {

class JsonWriter {
 public:
  JsonWriter();
  ~JsonWriter();
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view text);  // bytes that are not UTF-8 become U+FFFD
  JsonWriter& Int(int64_t value);
  JsonWriter& Uint(uint64_t value);
  // NaN and infinities are written as strings: "NaN", "Infinity", "-Infinity".
  JsonWriter& Double(double value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  JsonWriter& Raw(std::string_view json);  // a value that is JSON already

  // Key and value in one.
  JsonWriter& Field(std::string_view key, std::string_view text) { return Key(key).String(text); }
  JsonWriter& Field(std::string_view key, const char* text) { return Key(key).String(text); }
  JsonWriter& Field(std::string_view key, const std::string& text) { return Key(key).String(text); }
  JsonWriter& Field(std::string_view key, int64_t value) { return Key(key).Int(value); }
  JsonWriter& Field(std::string_view key, int value) { return Key(key).Int(value); }
  JsonWriter& Field(std::string_view key, uint64_t value) { return Key(key).Uint(value); }
  JsonWriter& Field(std::string_view key, bool value) { return Key(key).Bool(value); }

  std::string Take();  // the text written; the writer starts anew

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf
