// Walks the fields of one protobuf message. Input comes from the network: every length is checked,
// and a malformed message ends the walk with ok() false.
#pragma once

#include <cstdint>
#include <string_view>

#include "client/runtime/protobuf_writer.h"

namespace wherefore::client {

// Borrows the message for its own lifetime.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  // Moves to the next field; false at the end or at a malformed field.
  bool Next() {
    if (rest_.empty() || !ok_) return false;
    uint64_t tag = 0;
    if (!TakeVarint(tag)) return Malformed();
    field_ = static_cast<uint32_t>(tag >> 3);
    type_ = static_cast<WireType>(tag & 7);
    bytes_ = {};
    number_ = 0;
    switch (type_) {
      case WireType::kVarint:
        return TakeVarint(number_) || Malformed();
      case WireType::kFixed64:
        return TakeFixed(8);
      case WireType::kFixed32:
        return TakeFixed(4);
      case WireType::kBytes: {
        uint64_t length = 0;
        if (!TakeVarint(length) || length > rest_.size()) return Malformed();
        bytes_ = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return true;
      }
    }
    return Malformed();  // groups, and types that do not exist
  }

  bool ok() const { return ok_; }
  uint32_t field() const { return field_; }
  WireType type() const { return type_; }
  uint64_t number() const { return number_; }        // of a varint or fixed field
  std::string_view bytes() const { return bytes_; }  // of a bytes, text or message field

 private:
  bool Malformed() {
    ok_ = false;
    return false;
  }
  bool TakeVarint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool TakeFixed(size_t size) {
    if (rest_.size() < size) return Malformed();
    for (size_t i = 0; i < size; ++i) {
      number_ |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  std::string_view bytes_;
  uint64_t number_ = 0;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  bool ok_ = true;
};

}  // namespace wherefore::client
