#include "advice/packed_tuples.h"

#include <algorithm>
#include <utility>

namespace wf::advice {
namespace {

// The order of First and MostRecent.
bool Before(int64_t time, std::string_view id, const PackedEvent& event) {
  return time != event.adjusted_time ? time < event.adjusted_time : id < std::string_view(event.id);
}

// Gives each row to `row(weight)`, then each of its cells to `cell(cell)`; what they say no to ends it. False, with some
// given: it is not a slot of this shape.
template <typename AddRow, typename AddCell>
bool ReadRows(const Slot& slot, std::string_view bytes, const AddRow& add_row,
              const AddCell& add_cell) {
  Reader in(bytes);
  StringReferences strings;
  const size_t width = slot.columns;
  const size_t events = slot.keep == Keep::kAll ? 1 : in.Count();
  if (!slot.aggregates.empty() || (slot.keep != Keep::kAll && events > slot.limit)) return false;
  uint64_t last = 0;
  std::string_view last_id;
  for (size_t i = 0; i < events; ++i) {
    if (slot.keep != Keep::kAll) {
      const uint64_t time = last + static_cast<uint64_t>(in.Signed());
      const std::string_view id = in.Text();
      // Their order, as PackedTuples has it.
      const auto now = static_cast<int64_t>(time), before = static_cast<int64_t>(last);
      if (i != 0 && (now != before ? now < before : id < last_id)) return false;
      last = time;
      last_id = id;
    }
    const uint64_t head = in.Varint();
    const bool weighted = (head & 1) != 0;
    const uint64_t rows = head >> 1;
    if (!in.ok() || rows > (width == 0 && !weighted ? 1 : in.left()) ||
        rows * (width + (weighted ? 1 : 0)) > in.left()) {
      return false;
    }
    for (uint64_t row = 0; row < rows; ++row) {
      if (!add_row(weighted ? in.Varint() : 1)) return false;
      for (size_t k = 0; k < width; ++k) {
        Cell cell;
        if (!ReadShortText(in, strings, cell)) cell = ReadCell(in, strings);
        if (!add_cell(cell)) return false;
      }
      if (!in.ok()) return false;
    }
  }
  return in.Done();
}

}  // namespace

bool BorrowedRows::Decode(const Slot& slot, std::string_view bytes) {
  return ReadRows(
      slot, bytes,
      [&](uint64_t weight) {
        weights.push_back(weight);
        return true;
      },
      [&](const Cell& cell) {
        cells.push_back(cell);
        return true;
      });
}

[[gnu::hot]] size_t DecodeCells(const Slot& slot, std::string_view bytes, const CellRoom& room) {
  // One tuple of one short text, as most of what is packed of who asks.
  constexpr size_t kHead = 2;
  constexpr char kOneRow = 1 << 1;
  if (slot.keep == Keep::kAll && slot.columns == 1 && slot.aggregates.empty() &&
      bytes.size() >= kHead && bytes[0] == kOneRow && room.most_rows != 0 &&
      room.most_cells >= room.stride && ShortTextSize(bytes[1]) == bytes.size() - kHead) {
    room.cells[0] = Cell::Of(bytes.substr(kHead));
    room.weights[0] = 1;
    return 1;
  }
  size_t rows = 0, used = 0;
  Cell* at = room.cells;
  const bool well = ReadRows(
      slot, bytes,
      [&](uint64_t weight) {
        at = room.cells + used;
        used += room.stride;
        if (rows == room.most_rows || used > room.most_cells) return false;
        room.weights[rows++] = weight;
        return true;
      },
      [&](const Cell& cell) {
        *at++ = cell;
        return true;
      });
  return well ? rows : kNoRows;
}

std::optional<int64_t> TimeOfOnlyEvent(std::string_view bytes) {
  Reader in(bytes);
  if (in.Count() != 1) return std::nullopt;
  const int64_t time = in.Signed();
  if (!in.ok()) return std::nullopt;
  return time;
}

void PackedTuples::Shape(const Slot& slot) {
  if (empty() && (rows_.width() != slot.columns || rows_.state_width() != slot.aggregates.size()))
    rows_ = Rows(slot.columns, slot.aggregates.size());
}

size_t PackedTuples::Find(const Value* columns, uint64_t& hash) {
  const size_t width = rows_.width();
  if (rows_.size() <= RowIndex::kLinear) {
    if (rows_.empty()) rows_.Reserve(4);
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (IdenticalColumns(rows_.columns(row), columns, width)) return row;
    }
    return RowIndex::npos;
  }
  for (size_t row = index_.size(); row < rows_.size(); ++row)
    index_.Insert(HashColumns(rows_.columns(row), width), row);
  hash = HashColumns(columns, width);
  return index_.Find(
      hash, [&](size_t row) { return IdenticalColumns(rows_.columns(row), columns, width); });
}

bool PackedTuples::Contains(const Value* columns) {
  uint64_t hash = 0;
  return Find(columns, hash) != RowIndex::npos;
}

void PackedTuples::Add(const Slot& slot, const Rows& rows) {
  Shape(slot);
  if (rows.width() != rows_.width() || rows.state_width() != rows_.state_width()) return;
  for (size_t row = 0; row < rows.size(); ++row) {
    uint64_t hash = 0;
    const size_t same = Find(rows.columns(row), hash);
    if (same != RowIndex::npos) {
      rows_.FoldInto(same, rows.weight(row), rows.states(row));
    } else {
      if (rows_.size() > RowIndex::kLinear) index_.Insert(hash, rows_.size());
      rows_.AddRow(rows, row);
    }
  }
}

void PackedTuples::AddRow(const Slot& slot, Value* columns, uint64_t weight,
                          AggregateState* states) {
  Shape(slot);
  uint64_t hash = 0;
  const size_t same = Find(columns, hash);
  if (same != RowIndex::npos) return rows_.FoldInto(same, weight, states);
  if (rows_.size() > RowIndex::kLinear) index_.Insert(hash, rows_.size());
  for (size_t i = 0; i < rows_.width(); ++i) rows_.AddColumn(std::move(columns[i]));
  for (size_t i = 0; i < rows_.state_width(); ++i) rows_.AddState(std::move(states[i]));
  rows_.EndRow(weight);
}

std::optional<int64_t> PackedTuples::AdjustedTime(const Slot& slot, int64_t time) const {
  // Each of them happened before this one and has a lesser adjusted time, so every later event picks them first.
  if (slot.keep == Keep::kFirst && events_.size() >= slot.limit) return std::nullopt;
  if (events_.empty()) return time;
  const int64_t last = events_.back().adjusted_time;
  return std::max(time, last == INT64_MAX ? last : last + 1);
}

void PackedTuples::AddEvent(const Slot& slot, int64_t time, std::string_view id, const Rows& rows) {
  if (const auto adjusted = AdjustedTime(slot, time)) AddEventAt(slot, *adjusted, id, rows);
}

void PackedTuples::AddEventAt(const Slot& slot, int64_t adjusted_time, std::string_view id,
                              const Rows& rows) {
  InsertEvent(slot, adjusted_time, id, rows, 0, rows.size());
}

// Rows stay in the order of their events. An event that comes last, as on a straight path, is appended; otherwise the
// rows are moved over, which few do: N of FirstN and MostRecentN is small.
void PackedTuples::InsertEvent(const Slot& slot, int64_t adjusted_time, std::string_view id,
                               const Rows& rows, size_t begin, size_t end) {
  Shape(slot);
  if (rows.width() != rows_.width() || rows.state_width() != rows_.state_width()) return;
  size_t at = events_.size();
  while (at > 0 && Before(adjusted_time, id, events_[at - 1])) --at;
  if (at > 0 && events_[at - 1].adjusted_time == adjusted_time && events_[at - 1].id == id) return;
  if (slot.limit == 0) return;
  const bool full = events_.size() >= slot.limit;
  if (full && at == (slot.keep == Keep::kFirst ? events_.size() : 0)) return;

  if (full || at != events_.size()) {
    // The one that gives way: the last of First, the first of MostRecent.
    if (full) {
      const size_t out = slot.keep == Keep::kFirst ? events_.size() - 1 : 0;
      events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(out));
      if (out < at) --at;
    }
    Rows old(rows_.width(), rows_.state_width());
    std::swap(old, rows_);
    events_.insert(events_.begin() + static_cast<std::ptrdiff_t>(at), PackedEvent());
    for (size_t i = 0; i < events_.size(); ++i) {
      PackedEvent& event = events_[i];
      const auto first = static_cast<uint32_t>(rows_.size());
      if (i == at) {
        for (size_t row = begin; row < end; ++row) rows_.AddRow(rows, row);
      } else {
        for (size_t row = event.begin; row < event.end; ++row) rows_.MoveRow(old, row);
      }
      event.begin = first;
      event.end = static_cast<uint32_t>(rows_.size());
    }
  } else {
    events_.emplace_back();
    events_.back().begin = static_cast<uint32_t>(rows_.size());
    for (size_t row = begin; row < end; ++row) rows_.AddRow(rows, row);
    events_.back().end = static_cast<uint32_t>(rows_.size());
  }
  events_[at].adjusted_time = adjusted_time;
  events_[at].id = id;
}

void PackedTuples::Merge(const Slot& slot, const PackedTuples& other) {
  if (slot.keep == Keep::kAll) return Add(slot, other.rows_);
  for (const PackedEvent& event : other.events_)
    InsertEvent(slot, event.adjusted_time, event.id, other.rows_, event.begin, event.end);
}

void PackedTuples::Encode(const Slot& slot, std::string& bytes) const {
  Writer out(bytes);
  StringTable strings;
  if (slot.keep == Keep::kAll) return rows_.Encode(0, rows_.size(), out, strings);
  out.Varint(events_.size());
  uint64_t last = 0;
  for (const PackedEvent& event : events_) {
    const auto time = static_cast<uint64_t>(event.adjusted_time);
    out.Signed(static_cast<int64_t>(time - last));
    last = time;
    out.Text(event.id);
    rows_.Encode(event.begin, event.end, out, strings);
  }
}

bool PackedTuples::Decode(const Slot& slot, std::string_view bytes, PackedTuples& out) {
  try {
    // A fresh one of this shape, as callers have it, need not be made again.
    if (!out.empty() || out.rows_.width() != slot.columns ||
        out.rows_.state_width() != slot.aggregates.size()) {
      out.Reset(slot);
    }
    Reader in(bytes);
    StringReferences strings;
    if (slot.keep == Keep::kAll) return out.rows_.Decode(in, strings, slot.aggregates) && in.Done();
    const size_t events = in.Count();
    if (events > slot.limit) return false;
    uint64_t last = 0;
    for (size_t i = 0; i < events; ++i) {
      PackedEvent event;
      last += static_cast<uint64_t>(in.Signed());
      event.adjusted_time = static_cast<int64_t>(last);
      event.id = in.Text();
      if (i != 0 && Before(event.adjusted_time, event.id, out.events_.back())) return false;
      event.begin = static_cast<uint32_t>(out.rows_.size());
      if (!out.rows_.Decode(in, strings, slot.aggregates)) return false;
      event.end = static_cast<uint32_t>(out.rows_.size());
      out.events_.push_back(std::move(event));
    }
    return in.Done();
  } catch (...) {  // out of memory, in someone else's process
    return false;
  }
}

}  // namespace wf::advice
