#include "advice/wire.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace wf::advice {
namespace {

constexpr uint8_t kNull = 0, kFalse = 1, kTrue = 2, kDouble = 3, kFloat = 4, kString = 5,
                  kReference = 6, kList = 7;
constexpr uint8_t kIntegerBytes = 0x08, kSmallInteger = 0x10, kShortString = 0x50,
                  kShortReference = 0xB0;
constexpr size_t kShortStrings = kShortReference - kShortString,
                 kShortReferences = 0x100 - kShortReference;

void WriteString(std::string_view text, Writer& out, StringTable& strings) {
  if (const size_t number = strings.FindOrAdd(text); number != StringTable::npos) {
    if (number < kShortReferences) {
      out.Byte(static_cast<uint8_t>(kShortReference + number));
    } else {
      out.Byte(kReference);
      out.Varint(number);
    }
    return;
  }
  if (text.size() < kShortStrings) {
    out.Byte(static_cast<uint8_t>(kShortString + text.size()));
    out.Bytes(text);
  } else {
    out.Byte(kString);
    out.Text(text);
  }
}

void WriteDouble(double value, Writer& out) {
  const auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) == value) {
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    out.Byte(kFloat);
    out.Bytes({reinterpret_cast<const char*>(&bits), 4});
  } else {
    out.Byte(kDouble);
    out.Double(value);
  }
}

Value FiniteOrNull(double value) {
  if (!std::isfinite(value)) return Null();
  return value;
}

Value ReadString(std::string_view text, StringReferences& strings) {
  strings.Note(text);
  return std::string(text);
}

Value ReadReference(size_t number, Reader& in, const StringReferences& strings) {
  std::string_view text;
  if (!strings.Get(number, text)) in.Fail();
  return std::string(text);
}

Value ReadNested(Reader& in, StringReferences& strings, int depth);

Value ReadList(Reader& in, StringReferences& strings, int depth) {
  if (depth == kMaxListDepth) return in.Fail(), Null();
  const size_t size = in.Count();
  List list;
  list.reserve(size);
  for (size_t i = 0; i < size && in.ok(); ++i) list.push_back(ReadNested(in, strings, depth + 1));
  return list;
}

Value ReadNested(Reader& in, StringReferences& strings, int depth) {
  const uint8_t tag = in.Byte();
  if (tag >= kShortReference) return ReadReference(tag - kShortReference, in, strings);
  if (tag >= kShortString) return ReadString(in.Bytes(tag - kShortString), strings);
  if (tag >= kSmallInteger) return static_cast<int64_t>(tag - kSmallInteger);
  if (tag >= kIntegerBytes) return in.Integer(tag - kIntegerBytes + 1u);
  switch (tag) {
    case kFalse:
      return false;
    case kTrue:
      return true;
    case kDouble:
      return FiniteOrNull(in.Double());
    case kFloat: {
      const std::string_view bytes = in.Bytes(4);
      float value = 0;
      if (bytes.size() == 4) std::memcpy(&value, bytes.data(), 4);
      return FiniteOrNull(static_cast<double>(value));
    }
    case kString:
      return ReadString(in.Text(), strings);
    case kReference:
      return ReadReference(static_cast<size_t>(in.Varint()), in, strings);
    case kList:
      return ReadList(in, strings, depth);
    default:
      return Null();
  }
}

Cell ReadTextCell(std::string_view text, StringReferences& strings) {
  strings.Note(text);
  return Cell::Of(text);
}

Cell ReadReferenceCell(size_t number, Reader& in, const StringReferences& strings) {
  std::string_view text;
  if (!strings.Get(number, text)) in.Fail();
  return Cell::Of(text);
}

void WriteNested(const Value& value, Writer& out, StringTable& strings, int depth) {
  switch (value.index()) {
    case 1:
      out.Byte(*std::get_if<bool>(&value) ? kTrue : kFalse);
      return;
    case 2:
      out.Integer(*std::get_if<int64_t>(&value));
      return;
    case 3:
      WriteDouble(*std::get_if<double>(&value), out);
      return;
    case 4:
      WriteString(*std::get_if<std::string>(&value), out, strings);
      return;
    case 5: {
      if (depth == kMaxListDepth) break;
      const List& list = *std::get_if<List>(&value);
      out.Byte(kList);
      out.Varint(list.size());
      for (const Value& element : list) WriteNested(element, out, strings, depth + 1);
      return;
    }
    default:
      break;
  }
  out.Byte(kNull);
}

}  // namespace

void Writer::Grow(size_t bytes) {
  const auto used = static_cast<size_t>(at_ - out_.data());
  out_.resize(used + std::max(bytes, used + 48));
  at_ = out_.data() + used;
  end_ = out_.data() + out_.size();
}

void StringTable::Add(std::string_view text) {
  if (count_ < kFirst) {
    first_[count_] = text;
  } else {
    more_.push_back(text);
  }
  ++count_;
}

size_t StringTable::FindOrAdd(std::string_view text) {
  constexpr size_t kLinear = 8;
  if (text.size() < kMinReferable || text.size() > kMaxReferable) return npos;
  if (buckets_.empty()) {
    for (size_t i = 0; i < count_; ++i) {
      if (At(i) == text) return i;
    }
    Add(text);
    if (count_ <= kLinear) return npos;
    buckets_.resize(kBuckets);
    for (size_t number = 0; number < count_; ++number) {
      size_t i = HashBytes(At(number)) % kBuckets;
      while (buckets_[i] != 0) i = (i + 1) % kBuckets;
      buckets_[i] = static_cast<uint16_t>(number + 1);
    }
    return npos;
  }
  size_t i = HashBytes(text) % kBuckets;
  for (; buckets_[i] != 0; i = (i + 1) % kBuckets) {
    if (At(buckets_[i] - 1u) == text) return buckets_[i] - 1u;
  }
  if (count_ < kMaxReferences) {
    Add(text);
    buckets_[i] = static_cast<uint16_t>(count_);
  }
  return npos;
}

void WriteValue(const Value& value, Writer& out, StringTable& strings) {
  WriteNested(value, out, strings, 0);
}

Value ReadValue(Reader& in, StringReferences& strings) { return ReadNested(in, strings, 0); }

[[gnu::hot]] Cell ReadCell(Reader& in, StringReferences& strings) {
  const uint8_t tag = in.Byte();
  if (tag >= kShortReference) return ReadReferenceCell(tag - kShortReference, in, strings);
  if (tag >= kShortString) return ReadTextCell(in.Bytes(tag - kShortString), strings);
  if (tag >= kSmallInteger) return Cell::Of(static_cast<int64_t>(tag - kSmallInteger));
  if (tag >= kIntegerBytes) return Cell::Of(in.Integer(tag - kIntegerBytes + 1u));
  switch (tag) {
    case kFalse:
      return Cell::Of(false);
    case kTrue:
      return Cell::Of(true);
    case kDouble:
      return Cell::Of(in.Double());
    case kFloat: {
      const std::string_view bytes = in.Bytes(4);
      float value = 0;
      if (bytes.size() == 4) std::memcpy(&value, bytes.data(), 4);
      return Cell::Of(static_cast<double>(value));
    }
    case kString:
      return ReadTextCell(in.Text(), strings);
    case kReference:
      return ReadReferenceCell(static_cast<size_t>(in.Varint()), in, strings);
    case kList:
      in.Fail();
      return Cell::Null();
    default:
      return Cell::Null();
  }
}

}  // namespace wf::advice
