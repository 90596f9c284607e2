#include "client/baggage/active_slot.h"

#include <cstring>
#include <utility>

#include "advice/wire.h"
#include "client/runtime/varint.h"

namespace wherefore::client {

using wf::advice::Cell;
using wf::advice::PackedTuples;
using wf::advice::Rows;

void ActiveSlot::Begin(uint64_t of_query, uint32_t number, const wf::advice::Slot& kept) {
  query = of_query;
  slot = number;
  rule.keep = kept.keep;
  rule.limit = kept.limit;
  rule.columns = kept.columns;
  if (!rule.aggregates.empty() || !kept.aggregates.empty()) rule.aggregates = kept.aggregates;
  Clear();
}

void ActiveSlot::Clear() {
  form_ = Form::kLog;
  encoded_known_ = false;
  log_.Clear();
}

size_t ActiveSlot::BytesAtMost() const {
  switch (form_) {
    case Form::kLog:
      return log_.empty() ? 0 : log_.EncodedSize();
    case Form::kEvent:
      return 1 + VarintSize(ZigZag(time_)) + VarintSize(id_.size()) + id_.size() +
             log_.EncodedSize();
    case Form::kPacked:
      break;
  }
  return encoded_known_ ? encoded_.size() : packed_bytes_at_most_;
}

void ActiveSlot::CountBytes() {
  if (form_ != Form::kPacked || encoded_known_) return;
  encoded_.clear();
  packed_.Encode(rule, encoded_);
  encoded_known_ = true;
}

size_t ActiveSlot::EncodedSize() {
  CountBytes();
  return BytesAtMost();
}

void ActiveSlot::Encode(char* at) {
  switch (form_) {
    case Form::kEvent:
      *at++ = 1;
      at = PutVarint(ZigZag(time_), at);
      at = PutVarint(id_.size(), at);
      if (!id_.empty()) std::memcpy(at, id_.data(), id_.size());
      at += id_.size();
      log_.Encode(at);
      return;
    case Form::kLog:
      log_.Encode(at);
      return;
    case Form::kPacked:
      CountBytes();
      if (!encoded_.empty()) std::memcpy(at, encoded_.data(), encoded_.size());
  }
}

std::string_view ActiveSlot::Encoded() {
  const size_t size = EncodedSize();
  if (empty()) return {};
  if (!encoded_known_) {
    encoded_.resize(size);
    Encode(encoded_.data());
    encoded_known_ = true;
  }
  return encoded_;
}

bool ActiveSlot::Log(const Cell* cells, size_t width, size_t rows) {
  if (form_ != Form::kLog || log_.Add(cells, width, rows) != TupleLog::Added::kAdded) return false;
  encoded_known_ = false;
  return true;
}

bool ActiveSlot::Log(const TupleLog& ready) {
  return form_ == Form::kLog && log_.empty() && log_.CopyFew(ready);
}

bool ActiveSlot::Keep(int64_t adjusted_time, std::string_view id, const Cell* tuple, size_t width) {
  // Then an empty log takes it for certain: what it replaces may be given up.
  if (width == 0 || width > TupleLog::kMostTexts) return false;
  for (size_t i = 0; i < width; ++i) {
    if (tuple[i].size > wf::advice::kMaxReferable) return false;
  }
  Clear();
  log_.Add(tuple, width, 1);
  form_ = Form::kEvent;
  time_ = adjusted_time;
  id_ = id;
  return true;
}

bool ActiveSlot::Keep(int64_t adjusted_time, std::string_view id, const Rows& rows) {
  const size_t width = rows.width();
  if (rows.size() != 1 || rows.weight(0) != 1 || rows.state_width() != 0 ||
      width > TupleLog::kMostTexts) {
    return false;
  }
  Cell cells[TupleLog::kMostTexts];
  for (size_t i = 0; i < width; ++i) {
    const wf::advice::Value& value = rows.columns(0)[i];
    if (std::holds_alternative<wf::advice::List>(value)) return false;
    cells[i] = Cell::Of(value);
  }
  return Keep(adjusted_time, id, cells, width);
}

PackedTuples& ActiveSlot::Packed() {
  if (form_ != Form::kPacked) {
    const size_t bytes = BytesAtMost();
    packed_.Reset(rule);
    if (!empty()) PackedTuples::Decode(rule, Encoded(), packed_);
    packed_bytes_at_most_ = bytes;
    log_.Clear();
    form_ = Form::kPacked;
  }
  encoded_known_ = false;
  return packed_;
}

void ActiveSlot::SetPacked(PackedTuples packed, size_t bytes_at_most) {
  Packed() = std::move(packed);
  packed_bytes_at_most_ = bytes_at_most;
}

void ActiveSlot::AddRows(const Rows& rows, size_t bytes_at_most) {
  Packed().Add(rule, rows);
  packed_bytes_at_most_ = bytes_at_most;
}

void ActiveSlot::CopyTo(PackedTuples& into) {
  if (empty()) return;
  if (form_ == Form::kPacked) {
    into = packed_;
  } else {
    PackedTuples::Decode(rule, Encoded(), into);
  }
}

void ActiveSlot::MergeInto(PackedTuples& into) {
  if (empty()) return;
  if (form_ == Form::kPacked) return into.Merge(rule, packed_);
  PackedTuples mine(rule);
  PackedTuples::Decode(rule, Encoded(), mine);
  into.Merge(rule, mine);
}

}  // namespace wherefore::client
