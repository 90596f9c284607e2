#include "client/number_log.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "client/varint.h"

namespace wherefore::client {
namespace {

using wf::advice::PackedTuples;
using wf::advice::Rows;
using wf::advice::Value;

// Tags of advice/wire.h.
constexpr uint8_t kNull = 0, kFalse = 1, kTrue = 2, kDouble = 3, kIntegerBytes = 0x08,
                  kSmallInteger = 0x10;
constexpr int64_t kSmallIntegers = 64;
constexpr size_t kMostBytes = 9;     // of a number
constexpr size_t kFirstBytes = 104;  // what malloc gives for it anyway

// Of the values, not of their bytes: those are still on their way to memory.
uint64_t Mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

}  // namespace

bool NumberLog::Encode(const Value* columns, size_t width) {
  if (capacity_ - end_ < width * kMostBytes) {
    const auto more = static_cast<uint32_t>(
        std::max<size_t>(kFirstBytes, 2 * static_cast<size_t>(capacity_) + width * kMostBytes));
    std::unique_ptr<char[]> bytes(new char[more]);
    if (end_ != 0) std::memcpy(bytes.get(), bytes_.get(), end_);
    bytes_ = std::move(bytes);
    capacity_ = more;
  }
  char* at = bytes_.get() + end_;
  uint64_t hash = width;
  for (size_t i = 0; i < width; ++i) {
    const Value& value = columns[i];
    switch (value.index()) {
      case 0:
        *at++ = kNull;
        hash = Mixed(hash, 1);
        break;
      case 1:
        *at++ = *std::get_if<bool>(&value) ? kTrue : kFalse;
        hash = Mixed(hash, *std::get_if<bool>(&value) ? 3 : 2);
        break;
      case 2: {
        const int64_t number = *std::get_if<int64_t>(&value);
        hash = Mixed(hash, static_cast<uint64_t>(number));
        if (number >= 0 && number < kSmallIntegers) {
          *at++ = static_cast<char>(kSmallInteger + number);
          break;
        }
        const auto magnitude = static_cast<uint64_t>(number < 0 ? ~number : number);
        const auto bytes = (static_cast<unsigned>(65 - __builtin_clzll(magnitude | 1)) + 7) / 8;
        *at++ = static_cast<char>(kIntegerBytes + bytes - 1);
        std::memcpy(at, &number, 8);  // little endian: the first ones count
        at += bytes;
        break;
      }
      case 3: {
        uint64_t bits;
        std::memcpy(&bits, std::get_if<double>(&value), 8);
        hash = Mixed(hash, ~bits);
        *at++ = kDouble;
        std::memcpy(at, &bits, 8);
        at += 8;
        break;
      }
      default:
        return false;
    }
  }
  end_ = static_cast<uint32_t>(at - bytes_.get());
  hash_ = static_cast<uint32_t>(hash);
  return true;
}

void NumberLog::GrowIndex() {
  const Place* const old = more_places_ ? more_places_.get() : first_places_;
  const uint32_t count = places_;
  places_ = 4 * count;
  std::unique_ptr<Place[]> places(new Place[places_]);
  for (uint32_t i = 0; i < count; ++i) {
    if (old[i].begin == 0) continue;
    uint32_t at = old[i].hash & (places_ - 1);
    while (places[at].begin != 0) at = (at + 1) & (places_ - 1);
    places[at] = old[i];
  }
  more_places_ = std::move(places);
}

// No tuple's bytes are the beginning of another's, so as many as the new one has decide.
bool NumberLog::Known(uint32_t begin, uint32_t end) {
  if (2 * (tuples_ + 1) > places_) GrowIndex();
  const char* const bytes = bytes_.get();
  const uint32_t size = end - begin, hash = hash_;
  Place* const places = more_places_ ? more_places_.get() : first_places_;
  uint32_t at = hash & (places_ - 1);
  for (; places[at].begin != 0; at = (at + 1) & (places_ - 1)) {
    const uint32_t other = places[at].begin - 1;
    if (places[at].hash == hash && begin - other >= size &&
        std::memcmp(bytes + other, bytes + begin, size) == 0) {
      return true;
    }
  }
  places[at] = {hash, begin + 1};
  return false;
}

NumberLog::Added NumberLog::Add(const Rows& rows) {
  if (rows.width() == 0 || rows.state_width() != 0) return Added::kNotForMe;
  // Several at once are rare, and would have to be taken back one by one when the last is not for us.
  if (rows.size() != 1 || rows.weight(0) != 1) return Added::kNotForMe;
  end_ = used_;
  if (!Encode(rows.columns(0), rows.width()) || Known(used_, end_)) return Added::kNotForMe;
  used_ = end_;
  ++tuples_;
  return Added::kAdded;
}

size_t NumberLog::EncodedSize() const {
  return VarintSize(static_cast<uint64_t>(tuples_) << 1) + used_;
}

char* NumberLog::Encode(char* at) const {
  at = PutVarint(static_cast<uint64_t>(tuples_) << 1, at);  // all weights are 1
  if (used_ != 0) std::memcpy(at, bytes_.get(), used_);
  return at + used_;
}

PackedTuples NumberLog::ToPackedTuples(const wf::advice::Slot& rule) const {
  std::string bytes(EncodedSize(), '\0');
  Encode(bytes.data());
  PackedTuples tuples;
  PackedTuples::Decode(rule, bytes, tuples);
  return tuples;
}

}  // namespace wherefore::client
