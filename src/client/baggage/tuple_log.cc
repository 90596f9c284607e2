#include "client/baggage/tuple_log.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "advice/wire.h"
#include "base/short_bytes.h"
#include "client/runtime/varint.h"

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
constexpr size_t kMostOfNumber = 9;
constexpr size_t kFirstBytes = 104;  // what malloc gives for it anyway

// Of the values, not of their bytes: those are still on their way to memory.
uint64_t Mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

const Cell& ToCell(const Cell& cell) { return cell; }
inline Cell ToCell(const Value& value) {
  const auto* const integer = std::get_if<int64_t>(&value);
  return integer != nullptr ? Cell::Of(*integer) : Cell::Of(value);  // without a call, as most are
}

size_t TextSize(const Cell& cell) { return cell.size; }  // else 0
size_t TextSize(const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text != nullptr ? text->size() : 0;
}

}  // namespace

// Few steps to what a request may pack: each is a call of malloc, and beyond a thousand bytes a slow one.
bool TupleLog::MakeRoom(size_t most) {
  if (most > kMostBytes - used_) return false;
  const size_t grown = capacity_ < kKept ? std::min<size_t>(4 * capacity_, kKept) : 2 * capacity_;
  const auto more = static_cast<uint32_t>(
      std::min<size_t>(std::max({kFirstBytes, grown, used_ + most}), kMostBytes));
  std::unique_ptr<char[]> bytes(new char[more]);
  if (used_ != 0) std::memcpy(bytes.get(), bytes_.get(), used_);
  bytes_ = std::move(bytes);
  capacity_ = more;
  return true;
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

template <typename Column>
[[gnu::always_inline]] inline char* TupleLog::Encode(const Column* columns, size_t width,
                                                     uint16_t& short_hash) {
  size_t most = width * kMostOfNumber;
  for (size_t i = 0; i < width; ++i) most += TextSize(columns[i]);
  if (capacity_ - used_ < most && !MakeRoom(most)) return nullptr;
  char* at = bytes_.get() + used_;
  uint64_t hash = width;
  for (size_t i = 0; i < width; ++i) {
    const Cell cell = ToCell(columns[i]);
    if (cell.type == Cell::Type::kText) {
      if (!EncodeText(cell.view(), at, hash)) return nullptr;
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
      return nullptr;
    } else {
      *at = cell.null() ? kNull : cell.boolean ? kTrue : kFalse;
      hash = Mixed(hash, 1u + static_cast<unsigned char>(*at++));
    }
  }
  short_hash = static_cast<uint16_t>(hash);
  return at;
}

// A place for `hash`, which nobody has yet.
inline uint16_t& TupleLog::FreePlace(uint16_t hash) {
  uint32_t at = hash & (places_ - 1);
  while (table_[at] != 0) at = (at + 1) & (places_ - 1);
  return table_[at];
}

void TupleLog::GrowIndex() {
  constexpr uint32_t kFirstRoom = 64, kPlacesEach = 4;
  const uint32_t more = noted_ != nullptr ? 4 * room_ : kFirstRoom;
  std::unique_ptr<Noted[]> noted(new Noted[more]);
  std::copy_n(noted_ != nullptr ? noted_.get() : first_, tuples_, noted.get());
  places_ = kPlacesEach * more;
  table_.reset(new uint16_t[places_]());
  noted_ = std::move(noted);
  room_ = more;
  for (uint32_t i = 0; i < tuples_; ++i) FreePlace(noted_[i].hash) = static_cast<uint16_t>(i + 1);
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

[[gnu::always_inline]] inline bool TupleLog::Known(uint16_t hash, size_t width) {
  const Noted fresh = {hash, static_cast<uint16_t>(used_)};
  const auto same = [&](const Noted& noted) {
    return noted.hash == hash && Same(noted.begin, fresh.begin, width);
  };
  if (tuples_ < kFirstTuples) {
    for (uint32_t i = 0; i < tuples_; ++i) {
      if (same(first_[i])) return true;
    }
    first_[tuples_] = fresh;
    return false;
  }
  if (tuples_ == std::max(room_, kFirstTuples)) GrowIndex();
  uint32_t at = hash & (places_ - 1);
  for (; table_[at] != 0; at = (at + 1) & (places_ - 1)) {
    if (same(noted_[table_[at] - 1u])) return true;
  }
  table_[at] = static_cast<uint16_t>(tuples_ + 1);
  noted_[tuples_] = fresh;
  return false;
}

template <typename Column>
[[gnu::always_inline]] inline bool TupleLog::AddRow(const Column* columns, size_t width) {
  const uint32_t texts = texts_;
  uint16_t hash;
  const char* const end = Encode(columns, width, hash);
  if (end == nullptr || Known(hash, width)) {
    texts_ = texts;
    return false;
  }
  used_ = static_cast<uint32_t>(end - bytes_.get());
  ++tuples_;
  return true;
}

template <typename Column>
inline TupleLog::Added TupleLog::AddRows(const Column* columns, size_t width, size_t rows) {
  // Several at once have to be taken back when the last is not for us: only while no table is needed.
  if (width == 0 || rows == 0 || (rows != 1 && tuples_ + rows > kFirstTuples))
    return Added::kNotForMe;
  const uint32_t used = used_, tuples = tuples_, texts = texts_;
  for (size_t row = 0; row < rows; ++row) {
    if (AddRow(columns + row * width, width)) continue;
    used_ = used;
    tuples_ = tuples;
    texts_ = texts;
    return Added::kNotForMe;
  }
  return Added::kAdded;
}

TupleLog::Added TupleLog::Add(const Cell* cells, size_t width, size_t rows) {
  return AddRows(cells, width, rows);
}

TupleLog::Added TupleLog::Add(const Rows& rows) {
  if (rows.state_width() != 0) return Added::kNotForMe;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows.weight(row) != 1) return Added::kNotForMe;
  }
  return AddRows(rows.columns(0), rows.width(), rows.size());
}

bool TupleLog::CopyFew(const TupleLog& other) {
  if (other.room_ != 0) return false;
  if (capacity_ < other.used_ && !MakeRoom(other.used_)) return false;
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
  if (room_ != 0) {
    table_.reset();
    noted_.reset();
    places_ = room_ = 0;
  }
  if (capacity_ <= kKept) return;
  bytes_.reset();
  capacity_ = 0;
}

}  // namespace wherefore::client
