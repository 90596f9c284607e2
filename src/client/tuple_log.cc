#include "client/tuple_log.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "advice/wire.h"
#include "base/short_bytes.h"
#include "client/varint.h"

namespace wherefore::client {
namespace {

using wf::advice::Cell;
using wf::advice::Rows;
using wf::advice::Value;

// Tags of advice/wire.h.
constexpr uint8_t kNull = 0, kFalse = 1, kTrue = 2, kDouble = 3, kIntegerBytes = 0x08,
                  kSmallInteger = 0x10, kShortString = 0x50, kShortReference = 0xB0;
constexpr int64_t kSmallIntegers = 64;
constexpr size_t kShortStrings = kShortReference - kShortString;
constexpr size_t kMostBytes = 9;     // of a number
constexpr size_t kFirstBytes = 104;  // what malloc gives for it anyway
constexpr size_t kMostRow = 1 << 16;

// Of the values, not of their bytes: those are still on their way to memory.
uint64_t Mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

}  // namespace

void TupleLog::MakeRoom(size_t most) {
  const auto more = static_cast<uint32_t>(
      std::max<size_t>(kFirstBytes, 2 * static_cast<size_t>(capacity_) + most));
  std::unique_ptr<char[]> bytes(new char[more]);
  if (end_ != 0) std::memcpy(bytes.get(), bytes_.get(), end_);
  bytes_ = std::move(bytes);
  capacity_ = more;
}

// As advice::WriteValue does: one that was written before is referred to.
inline bool TupleLog::EncodeText(std::string_view text, char*& at, uint64_t& hash) {
  if (text.size() >= kShortStrings) return false;
  hash = Mixed(hash, text.size() ^ 5ull << 56);
  for (size_t i = 0; i < text.size(); i += 8)
    hash = Mixed(hash, wf::LoadShort(text.data() + i, std::min<size_t>(text.size() - i, 8)));
  if (text.size() >= wf::advice::kMinReferable && text.size() <= wf::advice::kMaxReferable) {
    for (uint32_t i = 0; i < texts_; ++i) {
      if (text.size() == text_[i].size &&
          wf::SameBytes(text.data(), bytes_.get() + text_[i].begin, text.size())) {
        *at++ = static_cast<char>(kShortReference + i);
        return true;
      }
    }
    if (texts_ == kMostTexts) return false;
    text_[texts_++] = {static_cast<uint32_t>(at + 1 - bytes_.get()),
                       static_cast<uint32_t>(text.size())};
  }
  *at++ = static_cast<char>(kShortString + text.size());
  wf::CopyBytes(at, text.data(), text.size());
  at += text.size();
  return true;
}

bool TupleLog::Encode(const Cell* columns, size_t width) {
  size_t most = width * kMostBytes;
  for (size_t i = 0; i < width; ++i) most += columns[i].size;  // of text; else 0
  if (most > kMostRow) return false;
  if (capacity_ - end_ < most) MakeRoom(most);
  char* at = bytes_.get() + end_;
  uint64_t hash = width;
  for (size_t i = 0; i < width; ++i) {
    const Cell& cell = columns[i];
    if (cell.type == Cell::Type::kText) {
      if (!EncodeText(cell.view(), at, hash)) return false;
    } else if (cell.type == Cell::Type::kInteger) {
      const int64_t number = cell.integer;
      hash = Mixed(hash, static_cast<uint64_t>(number));
      if (number >= 0 && number < kSmallIntegers) {
        *at++ = static_cast<char>(kSmallInteger + number);
        continue;
      }
      const auto magnitude = static_cast<uint64_t>(number < 0 ? ~number : number);
      const auto bytes = (static_cast<unsigned>(65 - __builtin_clzll(magnitude | 1)) + 7) / 8;
      *at++ = static_cast<char>(kIntegerBytes + bytes - 1);
      std::memcpy(at, &number, 8);  // little endian: the first ones count
      at += bytes;
    } else if (cell.type == Cell::Type::kDouble) {
      uint64_t bits;
      std::memcpy(&bits, &cell.real, 8);
      hash = Mixed(hash, ~bits);
      *at++ = kDouble;
      std::memcpy(at, &bits, 8);
      at += 8;
    } else if (cell.type == Cell::Type::kList) {  // seldom, and never short
      return false;
    } else {
      *at = cell.null() ? kNull : cell.boolean ? kTrue : kFalse;
      hash = Mixed(hash, 1u + static_cast<unsigned char>(*at++));
    }
  }
  end_ = static_cast<uint32_t>(at - bytes_.get());
  hash_ = static_cast<uint32_t>(hash);
  return true;
}

void TupleLog::GrowIndex() {
  const Place* const old = table_ ? table_.get() : first_;
  const uint32_t count = table_ ? places_ : kFirstTuples;
  const uint32_t more = table_ ? 4 * places_ : kFirstPlaces;
  std::unique_ptr<Place[]> places(new Place[more]());
  for (uint32_t i = 0; i < count; ++i) {
    if (old[i].begin == 0) continue;
    uint32_t at = old[i].hash & (more - 1);
    while (places[at].begin != 0) at = (at + 1) & (more - 1);
    places[at] = old[i];
  }
  table_ = std::move(places);
  places_ = more;
}

// The bytes of one value as if it stood alone, and the place behind it.
std::string_view TupleLog::Canonical(uint32_t& at) const {
  const char* const value = bytes_.get() + at;
  const auto tag = static_cast<uint8_t>(*value);
  if (tag >= kShortReference) {
    ++at;
    const Text& text = text_[tag - kShortReference];
    return {bytes_.get() + text.begin - 1, text.size + 1};
  }
  uint32_t size = 1;
  if (tag >= kShortString) {
    size += tag - kShortString;
  } else if (tag >= kIntegerBytes && tag < kSmallInteger) {
    size += tag - kIntegerBytes + 1u;
  } else if (tag == kDouble) {
    size += 8;
  }
  at += size;
  return {value, size};
}

bool TupleLog::Same(uint32_t a, uint32_t b, size_t width) const {
  for (size_t i = 0; i < width; ++i) {
    if (Canonical(a) != Canonical(b)) return false;
  }
  return true;
}

inline bool TupleLog::Known(uint32_t begin, size_t width) {
  const uint32_t hash = hash_;
  if (tuples_ < kFirstTuples) {
    for (uint32_t i = 0; i < tuples_; ++i) {
      if (first_[i].hash == hash && Same(first_[i].begin - 1, begin, width)) return true;
    }
    first_[tuples_] = {hash, begin + 1};
    return false;
  }
  if (2 * (tuples_ + 1) > places_) GrowIndex();
  Place* const places = table_.get();
  uint32_t at = hash & (places_ - 1);
  for (; places[at].begin != 0; at = (at + 1) & (places_ - 1)) {
    if (places[at].hash == hash && Same(places[at].begin - 1, begin, width)) return true;
  }
  places[at] = {hash, begin + 1};
  return false;
}

inline bool TupleLog::AddRow(const Cell* columns, size_t width) {
  end_ = used_;
  const uint32_t texts = texts_;
  if (!Encode(columns, width) || Known(used_, width)) {
    texts_ = texts;
    return false;
  }
  used_ = end_;
  ++tuples_;
  return true;
}

TupleLog::Added TupleLog::Add(const Cell* cells, size_t width, size_t rows) {
  // Several at once have to be taken back when the last is not for us: only while no table is needed.
  if (width == 0 || rows == 0 || (rows != 1 && tuples_ + rows > kFirstTuples))
    return Added::kNotForMe;
  const uint32_t used = used_, tuples = tuples_, texts = texts_;
  for (size_t row = 0; row < rows; ++row) {
    if (AddRow(cells + row * width, width)) continue;
    used_ = used;
    tuples_ = tuples;
    texts_ = texts;
    return Added::kNotForMe;
  }
  return Added::kAdded;
}

TupleLog::Added TupleLog::Add(const Rows& rows) {
  constexpr size_t kMostCells = 64;
  const size_t count = rows.size() * rows.width();
  if (rows.state_width() != 0 || count > kMostCells) return Added::kNotForMe;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows.weight(row) != 1) return Added::kNotForMe;
  }
  Cell cells[kMostCells];
  for (size_t i = 0; i < count; ++i) {
    const Value& value = rows.columns(0)[i];
    if (const auto* const integer = std::get_if<int64_t>(&value)) {  // without a call, as most are
      cells[i] = Cell::Of(*integer);
      continue;
    }
    if (std::holds_alternative<wf::advice::List>(value)) return Added::kNotForMe;
    cells[i] = Cell::Of(value);
  }
  return Add(cells, rows.width(), rows.size());
}

bool TupleLog::CopyFew(const TupleLog& other) {
  if (other.table_ != nullptr) return false;
  end_ = 0;
  if (capacity_ < other.used_) MakeRoom(other.used_);
  wf::CopyBytes(bytes_.get(), other.bytes_.get(), other.used_);
  used_ = other.used_;
  tuples_ = other.tuples_;
  texts_ = other.texts_;
  for (uint32_t i = 0; i < tuples_; ++i) first_[i] = other.first_[i];
  for (uint32_t i = 0; i < texts_; ++i) text_[i] = other.text_[i];
  return true;
}

size_t TupleLog::EncodedSize() const {
  return VarintSize(static_cast<uint64_t>(tuples_) << 1) + used_;
}

char* TupleLog::Encode(char* at) const {
  at = PutVarint(static_cast<uint64_t>(tuples_) << 1, at);  // all weights are 1
  wf::CopyBytes(at, bytes_.get(), used_);
  return at + used_;
}

void TupleLog::Clear() {
  used_ = tuples_ = texts_ = 0;
  if (table_ != nullptr) {
    table_.reset();
    places_ = 0;
  }
  if (capacity_ <= kKept) return;
  bytes_.reset();
  capacity_ = 0;
}

}  // namespace wherefore::client
