#include "import/jaeger/thrift_reader.h"

namespace wf::jaeger {
namespace {

constexpr int kMaxDepth = 32;

// The fewest bytes a value can take; 0 for an unknown type.
size_t LeastBytes(ThriftType type) {
  switch (type) {
    case ThriftType::kBool:
    case ThriftType::kByte:
    case ThriftType::kStruct:
      return 1;
    case ThriftType::kI16:
      return 2;
    case ThriftType::kI32:
    case ThriftType::kString:
      return 4;
    case ThriftType::kList:
    case ThriftType::kSet:
      return 5;
    case ThriftType::kMap:
      return 6;
    case ThriftType::kI64:
    case ThriftType::kDouble:
      return 8;
    case ThriftType::kStop:
      break;
  }
  return 0;
}

}  // namespace

bool ThriftReader::List(ThriftType& element, int32_t& count) {
  if (!Need(1)) return false;
  element = static_cast<ThriftType>(bytes_[at_++]);
  count = I32();
  if (!ok()) return false;
  if (count < 0) return Fail("negative length"), false;
  if (count == 0) return true;
  const size_t least = LeastBytes(element);
  if (least == 0) return Fail("unknown type of list elements"), false;
  if (static_cast<size_t>(count) > (bytes_.size() - at_) / least)
    return Fail("a list longer than the batch"), false;
  return true;
}

void ThriftReader::Skip(ThriftType type, int depth) {
  if (depth > kMaxDepth) return Fail("nested too deep");
  switch (type) {
    case ThriftType::kBool:
    case ThriftType::kByte:
    case ThriftType::kI16:
    case ThriftType::kI32:
    case ThriftType::kI64:
    case ThriftType::kDouble:
      if (Need(LeastBytes(type))) at_ += LeastBytes(type);
      return;
    case ThriftType::kString:
      String();
      return;
    case ThriftType::kStruct: {
      ThriftType field;
      int16_t id;
      while (Field(field, id)) Skip(field, depth + 1);
      return;
    }
    case ThriftType::kList:
    case ThriftType::kSet: {
      ThriftType element;
      int32_t count;
      if (!List(element, count)) return;
      for (int32_t i = 0; i < count && ok(); ++i) Skip(element, depth + 1);
      return;
    }
    case ThriftType::kMap: {
      if (!Need(6)) return;
      const auto key = static_cast<ThriftType>(bytes_[at_]);
      const auto value = static_cast<ThriftType>(bytes_[at_ + 1]);
      at_ += 2;
      const int32_t count = I32();
      if (count < 0) return Fail("negative length");
      for (int32_t i = 0; i < count && ok(); ++i) {
        Skip(key, depth + 1);
        Skip(value, depth + 1);
      }
      return;
    }
    case ThriftType::kStop:
      break;
  }
  Fail("unknown type of value");
}

}  // namespace wf::jaeger
