// ThriftReader: Apache Thrift's binary protocol, read from a bounded buffer. Every length is checked against
// the remaining bytes before it is used; nesting is limited. After the first fault every call fails, and
// offset() returns its place.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/ids.h"

namespace wf::jaeger {

enum class ThriftType : uint8_t {
  kStop = 0,
  kBool = 2,
  kByte = 3,
  kDouble = 4,
  kI16 = 6,
  kI32 = 8,
  kI64 = 10,
  kString = 11,
  kStruct = 12,
  kMap = 13,
  kSet = 14,
  kList = 15,
};

class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return fault_ == nullptr; }
  const char* fault() const { return fault_; }
  size_t offset() const { return at_; }
  void Seek(size_t offset) { at_ = offset; }

  // The next field of a struct; false at its end or at a fault.
  bool Field(ThriftType& type, int16_t& id) {
    if (!Need(1)) return false;
    type = static_cast<ThriftType>(bytes_[at_]);
    if (type == ThriftType::kStop) {
      ++at_;
      return false;
    }
    if (!Need(3)) return false;
    id = static_cast<int16_t>(static_cast<unsigned char>(bytes_[at_ + 1]) << 8 |
                              static_cast<unsigned char>(bytes_[at_ + 2]));
    at_ += 3;
    return true;
  }

  bool Bool() { return Need(1) && bytes_[at_++] != 0; }
  int32_t I32() {
    if (!Need(4)) return 0;
    uint32_t value;
    std::memcpy(&value, bytes_.data() + at_, 4);
    at_ += 4;
    return static_cast<int32_t>(__builtin_bswap32(value));
  }
  int64_t I64() {
    if (!Need(8)) return 0;
    const uint64_t value = LoadBigEndian64(bytes_.data() + at_);
    at_ += 8;
    return static_cast<int64_t>(value);
  }
  double Double() {
    const int64_t bits = I64();
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
  }
  std::string_view String() {
    const int32_t length = I32();
    if (!ok()) return {};
    if (length < 0) return Fail("negative length"), std::string_view();
    if (!Need(static_cast<size_t>(length))) return {};
    const std::string_view text = bytes_.substr(at_, static_cast<size_t>(length));
    at_ += text.size();
    return text;
  }
  // Header of a list or set; its elements follow. Fails if they cannot fit into the remaining bytes.
  bool List(ThriftType& element, int32_t& count);

  // Skips a value of any type.
  void Skip(ThriftType type, int depth = 0);

  void Fail(const char* reason) {
    if (fault_ == nullptr) fault_ = reason;
  }

 private:
  bool Need(size_t n) {
    if (fault_ != nullptr) return false;
    if (bytes_.size() - at_ < n) {
      Fail("the batch ends inside a value");
      return false;
    }
    return true;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  const char* fault_ = nullptr;
};

}  // namespace wf::jaeger
