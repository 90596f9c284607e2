// Bytes of advice, packed tuples and results. Short before all: baggage travels with every request. Integers take as
// many bytes as they need, small ones ride in their tag, and a string that was written before in the same slot is a
// one-byte reference. Reading trusts nothing: every length is held against what is left.
//
// Value: one tag byte, then
//   0x00 null   0x01 false   0x02 true   0x03 double (8 bytes)   0x04 double that is a float (4 bytes)
//   0x05 string: varint length, bytes    0x06 reference: varint number    0x07 list: varint size, values
//   0x08+n      integer of n + 1 bytes, two's complement, little-endian
//   0x10+n      the integer n, 0 to 63
//   0x50+n      string of n bytes, n up to 95
//   0xB0+n      reference to string n, n up to 79
// Strings of 2 to 64 bytes are numbered as they appear, the first 384 of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "advice/cell.h"
#include "advice/value.h"

namespace wf::advice {

inline constexpr size_t kMinReferable = 2, kMaxReferable = 64, kMaxReferences = 384;
// A list holds lists of scalars (a finished HISTOGRAM) and nothing deeper.
inline constexpr int kMaxListDepth = 2;

// Appends to `out`, which is longer than what was written until Finish (or the destructor) cuts it.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out), at_(out.data() + out.size()), end_(at_) {}
  ~Writer() { Finish(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void Byte(uint8_t byte) {
    Room(1);
    *at_++ = static_cast<char>(byte);
  }
  void Varint(uint64_t value) {
    Room(10);
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<char>(value);
  }
  void Signed(int64_t value) {  // zigzag
    Varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void Fixed64(uint64_t value) {
    Room(8);
    std::memcpy(at_, &value, 8);
    at_ += 8;
  }
  void Double(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    Fixed64(bits);
  }
  void Bytes(std::string_view bytes) {
    if (bytes.empty()) return;
    Room(bytes.size());
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void Text(std::string_view bytes) {
    Varint(bytes.size());
    Bytes(bytes);
  }
  // Tag and as many bytes as the value needs.
  void Integer(int64_t value) {
    Room(9);
    if (value >= 0 && value < 64) {
      *at_++ = static_cast<char>(0x10 + value);
      return;
    }
    const auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
    // With the sign: bits + 1, rounded up to bytes.
    const unsigned bytes = (64u - static_cast<unsigned>(__builtin_clzll(magnitude | 1))) / 8 + 1;
    *at_ = static_cast<char>(0x08 + bytes - 1);
    std::memcpy(at_ + 1, &value, 8);
    at_ += 1 + bytes;
  }
  // Makes room at once for what will be written piece by piece.
  void Room(size_t bytes) {
    if (static_cast<size_t>(end_ - at_) < bytes) Grow(bytes);
  }
  void Finish() {
    out_.resize(static_cast<size_t>(at_ - out_.data()));
    end_ = at_ = out_.data() + out_.size();
  }

 private:
  void Grow(size_t bytes);

  std::string& out_;
  char* at_;
  char* end_;
};

// Strings written so far. Borrows their bytes.
class StringTable {
 public:
  // The number of `text` if it was written before; otherwise npos, and it is numbered if there is room.
  size_t FindOrAdd(std::string_view text);
  static constexpr size_t npos = static_cast<size_t>(-1);

 private:
  static constexpr size_t kBuckets = 512, kFirst = 4;
  const std::string_view& At(size_t number) const {
    return number < kFirst ? first_[number] : more_[number - kFirst];
  }
  void Add(std::string_view text);

  size_t count_ = 0;
  std::array<std::string_view, kFirst> first_;  // most write no more, and then nothing is allocated
  std::vector<std::string_view> more_;
  std::vector<uint16_t> buckets_;  // number + 1; made with the ninth string
};

void WriteValue(const Value& value, Writer& out, StringTable& strings);

class Reader {
 public:
  explicit Reader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  bool Done() const { return ok_ && at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  std::string_view rest() const { return {at_, left()}; }
  void Fail() {
    ok_ = false;
    at_ = end_;
  }

  uint8_t Byte() {
    if (at_ == end_) return Fail(), uint8_t{0};
    return static_cast<uint8_t>(*at_++);
  }
  uint64_t Varint() {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) return static_cast<uint8_t>(*at_++);
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = Byte();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return Fail(), uint64_t{0};
  }
  int64_t Signed() {
    const uint64_t value = Varint();
    return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1)));
  }
  // A number of things that take at least a byte each, so that no loop outruns the input.
  size_t Count() {
    const uint64_t value = Varint();
    if (value > left()) return Fail(), size_t{0};
    return static_cast<size_t>(value);
  }
  uint64_t Fixed64() {
    uint64_t value = 0;
    if (left() < 8) return Fail(), value;
    std::memcpy(&value, at_, 8);
    at_ += 8;
    return value;
  }
  double Double() {
    const uint64_t bits = Fixed64();
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
  }
  std::string_view Bytes(size_t size) {
    if (left() < size) return Fail(), std::string_view();
    const std::string_view bytes(at_, size);
    at_ += size;
    return bytes;
  }
  std::string_view Text() { return Bytes(Count()); }
  // `size` bytes of a two's complement integer, 1 to 8.
  int64_t Integer(unsigned size) {
    uint64_t value = 0;
    if (left() >= 8) {
      std::memcpy(&value, at_, 8);
    } else {
      if (left() < size) return Fail(), int64_t{0};
      std::memcpy(&value, at_, size);
    }
    at_ += size;
    const unsigned shift = 64 - 8 * size;
    return static_cast<int64_t>(value << shift) >> shift;
  }
  // The size of the integer whose tag comes next, if one does and there is no need to look at where the input ends.
  unsigned PeekIntegerBytes() const {
    if (left() < 9) return 0;
    const unsigned size = static_cast<uint8_t>(*at_) - 0x08u + 1;
    return size <= 8 ? size : 0;
  }
  int64_t TaggedInteger(unsigned size) {
    uint64_t value;
    std::memcpy(&value, at_ + 1, 8);
    at_ += 1 + size;
    const unsigned shift = 64 - 8 * size;
    return static_cast<int64_t>(value << shift) >> shift;
  }

 private:
  const char* at_;
  const char* end_;
  bool ok_ = true;
};

// Strings read so far. Borrows the input.
class StringReferences {
 public:
  void Note(std::string_view text) {
    if (text.size() >= kMinReferable && text.size() <= kMaxReferable &&
        kFirst + more_.size() < kMaxReferences) {
      if (count_ < kFirst) {
        first_[count_++] = {text.data(), text.size()};
      } else {
        more_.push_back(text);
      }
    }
  }
  bool Get(size_t number, std::string_view& text) const {
    if (number >= count_ + more_.size()) return false;
    text = number < kFirst ? std::string_view(first_[number].data, first_[number].size)
                           : more_[number - kFirst];
    return true;
  }

 private:
  static constexpr size_t kFirst = 4;  // few tuples have more, and then nothing is allocated
  struct Text {                        // without zeros before there is one: most tuples have none
    const char* data;
    size_t size;
  };
  Text first_[kFirst];
  size_t count_ = 0;
  std::vector<std::string_view> more_;
};

// Null, with in.ok() false, if there is no value. A double that is not finite reads as null.
Value ReadValue(Reader& in, StringReferences& strings);
// The same, borrowing the input's text; of a list too `in` fails.
Cell ReadCell(Reader& in, StringReferences& strings);
// Of the string whose tag this is, if it is a short one; else more than any input has.
inline size_t ShortTextSize(char tag) {
  constexpr size_t kShortString = 0x50, kShortStrings = 0xB0 - kShortString;
  const size_t size = static_cast<uint8_t>(tag) - kShortString;
  return size < kShortStrings ? size : static_cast<size_t>(-1);
}
// The same of a short text, if one comes next, as nearly always in tuples that are no numbers; else false.
inline bool ReadShortText(Reader& in, StringReferences& strings, Cell& cell) {
  const size_t size = in.left() != 0 ? ShortTextSize(in.rest()[0]) : static_cast<size_t>(-1);
  if (in.left() <= size) return false;
  in.Byte();
  const std::string_view text = in.Bytes(size);
  strings.Note(text);
  cell = Cell::Of(text);
  return true;
}

}  // namespace wf::advice
