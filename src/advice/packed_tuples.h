// What baggage holds for one slot of one query: tuples kept by the slot's rule. Merging is associative, commutative
// and idempotent per event for First/MostRecent; for bags the caller merges each instance once (union by instance id).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advice/program.h"
#include "advice/rows.h"

namespace wf::advice {

// One kept event of First or MostRecent: rows [begin, end) of the slot. It may have none: an event is picked first,
// what Where leaves of it comes after.
struct PackedEvent {
  int64_t adjusted_time = 0;
  std::string id;  // breaks ties by bytes; live: 8 bytes
  uint32_t begin = 0, end = 0;
};

// Unpacked tuples as they fly: cells that borrow the bytes they were read from.
struct BorrowedRows {
  size_t width = 0;
  std::vector<Cell> cells;
  std::vector<uint64_t> weights;

  void Reset(size_t columns) {
    width = columns;
    cells.clear();
    weights.clear();
  }
  // Adds the tuples of a slot without aggregates, all events'. False, with rows left half added: PackedTuples::Decode may
  // have more luck.
  bool Decode(const Slot& slot, std::string_view bytes);
};

// Where to put them: a row every `stride` cells, which are no fewer than its columns.
struct CellRoom {
  Cell* cells = nullptr;
  size_t most_cells = 0, stride = 0;
  uint64_t* weights = nullptr;
  size_t most_rows = 0;
};
// The same there, of a slot without aggregates; returns the number of rows, or kNoRows if they do not fit, or are not such
// a slot.
inline constexpr size_t kNoRows = static_cast<size_t>(-1);
size_t DecodeCells(const Slot& slot, std::string_view bytes, const CellRoom& room);
// When the only event of a slot that keeps one happened; nothing: there is none, or it is no such slot.
std::optional<int64_t> TimeOfOnlyEvent(std::string_view bytes);

class PackedTuples {
 public:
  PackedTuples() = default;
  explicit PackedTuples(const Slot& slot) : rows_(slot.columns, slot.aggregates.size()) {}

  // Empty and of this shape; memory is kept.
  void Reset(const Slot& slot) {
    rows_.Reset(slot.columns, slot.aggregates.size());
    events_.clear();
    index_.Clear();
  }

  // kAll: adds rows, identical columns become one.
  void Add(const Slot& slot, const Rows& rows);
  // ... one row that the caller has at hand; `columns` and `states` are moved from.
  void AddRow(const Slot& slot, Value* columns, uint64_t weight, AggregateState* states);

  // kFirst, kMostRecent: one event at `time`; its adjusted time follows from what is here already.
  void AddEvent(const Slot& slot, int64_t time, std::string_view id, const Rows& rows);
  // The same in two halves, for baggage of several instances: the adjusted time follows from all that happened before
  // (ask the merged tuples), the event goes into the active one. Nothing: no later event can pick this one (First is
  // full of earlier ones), so it need not be packed.
  std::optional<int64_t> AdjustedTime(const Slot& slot, int64_t time) const;
  void AddEventAt(const Slot& slot, int64_t adjusted_time, std::string_view id, const Rows& rows);

  void Merge(const Slot& slot, const PackedTuples& other);

  // kAll: whether there is a row of these columns. (Not const: it may build the index.)
  bool Contains(const Value* columns);

  const Rows& rows() const {
    return rows_;
  }  // kAll: the bag; else all rows of all events, in the order of events()
  Rows TakeRows() { return std::move(rows_); }  // leaves none
  // The same for whoever needs the memory again.
  void SwapRows(Rows& rows) { std::swap(rows_, rows); }
  const std::vector<PackedEvent>& events() const { return events_; }  // ascending; kAll: none
  bool empty() const { return rows_.empty() && events_.empty(); }
  size_t tuple_count() const { return rows_.size(); }

  void Encode(const Slot& slot, std::string& out) const;
  // False if `bytes`, all of them, are not a slot of this shape. Work and memory are bounded by their size.
  static bool Decode(const Slot& slot, std::string_view bytes, PackedTuples& out);

 private:
  // The row of these columns, or npos.
  size_t Find(const Value* columns, uint64_t& hash);
  void InsertEvent(const Slot& slot, int64_t adjusted_time, std::string_view id, const Rows& rows,
                   size_t begin, size_t end);
  void Shape(const Slot& slot);

  Rows rows_;
  std::vector<PackedEvent> events_;
  RowIndex index_;  // kAll only; of the first index_.size() rows
};

}  // namespace wf::advice
