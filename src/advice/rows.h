// Tuples of one width, flat: the columns of all in one array, so that packing and reading many small tuples takes no
// allocation per tuple. A row is its columns, a weight (how many equal tuples of the bag it stands for) and aggregate
// states that cover that weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advice/aggregate.h"
#include "advice/cell.h"
#include "advice/value.h"
#include "advice/wire.h"

namespace wf::advice {

class Rows {
 public:
  Rows() = default;
  Rows(size_t columns, size_t states) : width_(columns), state_width_(states) {}
  Rows(const Rows&) = default;
  Rows& operator=(const Rows&) = default;
  Rows(Rows&& other) noexcept
      : width_(other.width_),
        state_width_(other.state_width_),
        size_(std::exchange(other.size_, 0)),
        values_(std::move(other.values_)),
        weights_(std::move(other.weights_)),
        states_(std::move(other.states_)) {}
  Rows& operator=(Rows&& other) noexcept {
    width_ = other.width_;
    state_width_ = other.state_width_;
    size_ = std::exchange(other.size_, 0);
    values_ = std::move(other.values_);
    weights_ = std::move(other.weights_);
    states_ = std::move(other.states_);
    return *this;
  }

  size_t width() const { return width_; }
  size_t state_width() const { return state_width_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const Value* columns(size_t row) const { return values_.data() + row * width_; }
  Value* columns(size_t row) { return values_.data() + row * width_; }
  uint64_t weight(size_t row) const { return weights_.empty() ? 1 : weights_[row]; }
  const AggregateState* states(size_t row) const { return states_.data() + row * state_width_; }
  AggregateState* states(size_t row) { return states_.data() + row * state_width_; }

  // One row, built from left to right: width() values, then state_width() states, then EndRow.
  template <class T>
  void AddColumn(T&& value) {
    values_.emplace_back(std::forward<T>(value));
  }
  void AddText(std::string_view text) {
    values_.emplace_back(std::in_place_type<std::string>, text);
  }
  void AddState(AggregateState state) { states_.push_back(std::move(state)); }
  AggregateState& NewState(AggregateKind kind) { return states_.emplace_back(kind); }
  void EndRow(uint64_t weight) {
    if (weight != 1 || !weights_.empty()) Weigh().push_back(weight);
    ++size_;
  }
  void AddRow(const Rows& from, size_t row);
  void MoveRow(Rows& from, size_t row);  // leaves nulls there

  // What was found equal to `row` becomes one with it: weights add up, states merge.
  void FoldInto(size_t row, uint64_t weight, const AggregateState* states);

  void AddWeight(size_t row, uint64_t weight) {
    uint64_t& sum = Weigh()[row];
    sum = AddCounts(sum, weight);
  }

  void Reserve(size_t rows);
  void Clear();
  // Empty and of another width; memory is kept.
  void Reset(size_t columns, size_t states) {
    Clear();
    width_ = columns;
    state_width_ = states;
  }
  // Keeps the first `rows`.
  void Truncate(size_t rows);

  // Rows [begin, end): number, weights unless all are 1, columns, states. `strings` spares repeated ones.
  void Encode(size_t begin, size_t end, Writer& out, StringTable& strings) const;
  // Appends what Encode wrote, of states of these kinds; false, with rows left half added, if it is not that.
  bool Decode(Reader& in, StringReferences& strings, const std::vector<Aggregate>& aggregates);

 private:
  std::vector<uint64_t>& Weigh();

  size_t width_ = 0, state_width_ = 0, size_ = 0;
  std::vector<Value> values_;
  std::vector<uint64_t> weights_;  // empty: all are 1, as nearly always
  std::vector<AggregateState> states_;
};

bool IdenticalColumns(const Value* a, const Value* b, size_t count);
uint64_t HashColumns(const Value* columns, size_t count);
// The same one column after the other, from `count` on.
uint64_t NextColumnHash(uint64_t hash, const Value& column);
uint64_t NextColumnHash(uint64_t hash, const Cell& column);

// Finds rows by their columns; the caller says what equal means. Built when first needed, and only for more rows than
// are quicker looked through.
class RowIndex {
 public:
  static constexpr size_t kLinear = 8;
  void Clear() {
    buckets_.clear();
    used_ = 0;
  }
  // The first row that hashes to `hash` for which `same(row)` is true, or npos.
  template <class Same>
  size_t Find(uint64_t hash, const Same& same) const {
    if (buckets_.empty()) return npos;
    const size_t mask = buckets_.size() - 1;
    for (size_t i = static_cast<uint32_t>(hash) & mask; buckets_[i].row != 0; i = (i + 1) & mask) {
      if (buckets_[i].hash == static_cast<uint32_t>(hash >> 32) && same(buckets_[i].row - 1))
        return buckets_[i].row - 1;
    }
    return npos;
  }
  void Insert(uint64_t hash, size_t row);
  size_t size() const { return used_; }

  static constexpr size_t npos = static_cast<size_t>(-1);

 private:
  struct Bucket {   // trivial, so that tables are zeroed and copied as bytes
    uint32_t hash;  // the upper half; the lower one chose the bucket
    uint32_t low;   // ... and is kept for when the table grows
    uint32_t row;   // row + 1; 0: free
  };
  void Place(const Bucket& bucket);
  std::vector<Bucket> buckets_;
  size_t used_ = 0;
};

}  // namespace wf::advice
