// ClickHouse's RowBinary: rows as bytes, one value after another, without names or types; both sides know the columns.
// Fixed-width integers and floats little-endian, texts with their length as a varint, arrays with their count.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "base/varint.h"

namespace wf::store::clickhouse {

class RowWriter {
 public:
  explicit RowWriter(std::string& out) : out_(out) {}

  template <typename T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof value);
  }
  void Count(uint64_t value) { PutVarint(value, out_); }
  void Text(std::string_view text) {
    Count(text.size());
    out_.append(text);
  }
  // Before the value of a Nullable column; a null has no value.
  enum class Null : uint8_t { kNo = 0, kYes = 1 };
  void Nullable(Null null) { Number(static_cast<uint8_t>(null)); }

 private:
  std::string& out_;
};

// Reads what the server wrote. After a value that is not there everything is zero or empty and bad() is true.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) : rest_(bytes) {}

  bool more() const { return !bad_ && !rest_.empty(); }
  bool bad() const { return bad_; }
  Status status() const {
    if (!bad_) return {};
    return EnvironmentError("ClickHouse: an answer ended in the middle of a row",
                            "ask again; see the server's log");
  }

  template <typename T>
  T Number() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    if (rest_.size() < sizeof value) return Fail(), value;
      // Where gcc 12 sees the answer that is read, it also sees the few bytes that a short text would have, and warns of them.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    std::memcpy(&value, rest_.data(), sizeof value);
#pragma GCC diagnostic pop
    rest_.remove_prefix(sizeof value);
    return value;
  }
  uint64_t Count() {
    uint64_t value = 0;
    if (!TakeVarint(rest_, value)) return Fail(), 0;
    return value;
  }
  // Valid as long as the answer is.
  std::string_view Text() {
    const uint64_t size = Count();
    if (bad_ || size > rest_.size()) return Fail(), std::string_view();
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  // How many elements of an array follow; each takes a byte at least.
  uint64_t Elements() {
    const uint64_t count = Count();
    if (count > rest_.size()) return Fail(), 0;
    return count;
  }
  bool Null() { return Number<uint8_t>() != 0; }

 private:
  void Fail() {
    bad_ = true;
    rest_ = {};
  }
  std::string_view rest_;
  bool bad_ = false;
};

}  // namespace wf::store::clickhouse
