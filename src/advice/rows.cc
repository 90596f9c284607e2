#include "advice/rows.h"

#include <utility>

#include "base/hash.h"

namespace wf::advice {

// Integers are most of what is packed, so they take no call.
bool IdenticalColumns(const Value* a, const Value* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto* x = std::get_if<int64_t>(&a[i]);
    const auto* y = std::get_if<int64_t>(&b[i]);
    if (x != nullptr && y != nullptr ? *x != *y : !Identical(a[i], b[i])) return false;
  }
  return true;
}

uint64_t NextColumnHash(uint64_t hash, const Value& column) {
  const auto* integer = std::get_if<int64_t>(&column);
  const uint64_t part = integer != nullptr ? static_cast<uint64_t>(*integer) : HashIdentity(column);
  return MixBits((hash + part) * 0x9E3779B97F4A7C15ull);
}

uint64_t NextColumnHash(uint64_t hash, const Cell& column) {
  const uint64_t part = column.type == Cell::Type::kInteger ? static_cast<uint64_t>(column.integer)
                                                            : HashIdentity(column);
  return MixBits((hash + part) * 0x9E3779B97F4A7C15ull);
}

uint64_t HashColumns(const Value* columns, size_t count) {
  uint64_t hash = count;
  for (size_t i = 0; i < count; ++i) hash = NextColumnHash(hash, columns[i]);
  return hash;
}

// Each by itself, from here on.
std::vector<uint64_t>& Rows::Weigh() {
  if (weights_.empty()) weights_.assign(size_, 1);
  return weights_;
}

void Rows::AddRow(const Rows& from, size_t row) {
  for (size_t i = 0; i < width_; ++i) values_.push_back(from.columns(row)[i]);
  for (size_t i = 0; i < state_width_; ++i) states_.push_back(from.states(row)[i]);
  EndRow(from.weight(row));
}

void Rows::MoveRow(Rows& from, size_t row) {
  for (size_t i = 0; i < width_; ++i) values_.push_back(std::move(from.columns(row)[i]));
  for (size_t i = 0; i < state_width_; ++i) states_.push_back(std::move(from.states(row)[i]));
  EndRow(from.weight(row));
}

void Rows::FoldInto(size_t row, uint64_t weight, const AggregateState* states) {
  AddWeight(row, weight);
  for (size_t i = 0; i < state_width_; ++i) this->states(row)[i].Merge(states[i], 1);
}

void Rows::Reserve(size_t rows) {
  values_.reserve(rows * width_);
  states_.reserve(rows * state_width_);
}

void Rows::Clear() {
  size_ = 0;
  values_.clear();
  weights_.clear();
  states_.clear();
}

void Rows::Truncate(size_t rows) {
  if (rows >= size()) return;
  values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(rows * width_), values_.end());
  states_.erase(states_.begin() + static_cast<std::ptrdiff_t>(rows * state_width_), states_.end());
  if (!weights_.empty()) weights_.resize(rows);
  size_ = rows;
}

void Rows::Encode(size_t begin, size_t end, Writer& out, StringTable& strings) const {
  // Several rows without columns would take no byte each, and not be believed: then the weights are told.
  bool weighted = width_ == 0 && state_width_ == 0 && end - begin > 1;
  if (!weights_.empty()) {
    for (size_t row = begin; row < end; ++row) weighted = weighted || weights_[row] != 1;
  }
  out.Varint((end - begin) << 1 | (weighted ? 1 : 0));
  out.Room((end - begin) * width_ * 9);  // enough for integers
  const Value* value = values_.data() + begin * width_;
  for (size_t row = begin; row < end; ++row) {
    if (weighted) out.Varint(weight(row));
    for (size_t i = 0; i < width_; ++i, ++value) {
      if (const auto* integer = std::get_if<int64_t>(value)) {
        out.Integer(*integer);
      } else {
        WriteValue(*value, out, strings);
      }
    }
    for (size_t i = 0; i < state_width_; ++i) states(row)[i].Encode(out);
  }
}

bool Rows::Decode(Reader& in, StringReferences& strings, const std::vector<Aggregate>& aggregates) {
  const uint64_t head = in.Varint();
  const bool weighted = (head & 1) != 0;
  const uint64_t rows = head >> 1;
  if (!in.ok() || aggregates.size() != state_width_) return false;
  // A row takes a byte at least; the one that takes none needs no second of its kind.
  const bool bare = width_ == 0 && state_width_ == 0 && !weighted;
  if (rows > (bare ? 1 : in.left())) return false;
  const size_t least = width_ + state_width_ + (weighted ? 1 : 0);
  if (rows * least > in.left()) return false;  // rows and columns are few: no division, no overflow
  values_.reserve(values_.size() + static_cast<size_t>(rows) * width_);
  if (weighted) Weigh().reserve(size_ + static_cast<size_t>(rows));
  if (state_width_ != 0) states_.reserve(states_.size() + static_cast<size_t>(rows) * state_width_);
  Reader at = in;  // whose address nobody has, so that it stays in registers
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t weight = weighted ? at.Varint() : 1;
    for (size_t i = 0; i < width_; ++i) {
      if (const unsigned bytes = at.PeekIntegerBytes(); bytes != 0) {
        values_.emplace_back(at.TaggedInteger(bytes));
      } else {
        in = at;
        values_.push_back(ReadValue(in, strings));
        at = in;
      }
    }
    for (size_t i = 0; i < state_width_; ++i) {
      states_.emplace_back(aggregates[i].kind);
      in = at;
      if (!AggregateState::Decode(aggregates[i].kind, in, states_.back())) return false;
      at = in;
    }
    EndRow(weight);
    if (!at.ok()) return false;
  }
  in = at;
  return true;
}

void RowIndex::Place(const Bucket& bucket) {
  const size_t mask = buckets_.size() - 1;
  size_t i = bucket.low & mask;
  while (buckets_[i].row != 0) i = (i + 1) & mask;
  buckets_[i] = bucket;
}

void RowIndex::Insert(uint64_t hash, size_t row) {
  if ((used_ + 1) * 2 > buckets_.size()) {  // half full at most, so that a miss is short
    std::vector<Bucket> old(buckets_.empty() ? 4 * kLinear : buckets_.size() * 2);
    old.swap(buckets_);
    for (const Bucket& bucket : old) {
      if (bucket.row != 0) Place(bucket);
    }
  }
  Place({static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(hash),
         static_cast<uint32_t>(row + 1)});
  ++used_;
}

}  // namespace wf::advice
