// Advice is a straight line over a set of tuples in flight: Observe makes the first, Unpack multiplies, Filter thins
// out, Pack or Emit ends it. Flat arrays, because most events have one tuple and must cost little.
#include "advice/interpreter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "advice/results.h"

namespace wf::advice {
namespace {

class Flight {
 public:
  void Begin(size_t max_tuples) {
    max_tuples_ = max_tuples;
    width_ = count_ = slots_ = 0;
    cells_.clear();
    origins_.clear();
    observed_.clear();
    made_.Clear();
  }
  size_t size() const { return count_; }
  const Cell* tuple(size_t i) const { return cells_.data() + i * width_; }
  // More than is worth keeping for the next event.
  bool large() const { return cells_.capacity() + next_cells_.capacity() > kKeptCells; }

  bool Observe(const std::vector<std::string>& variables, const Event& event) {
    count_ = 1;
    observed_.reserve(variables.size());  // so that they stay where they are
    for (const std::string& name : variables) {
      list_.clear();
      auto observed = event.Observe(name, list_);
      if (observed == Event::Observed::kNo) observed = Borrow(event.Variable(name));
      if (observed == Event::Observed::kOne && count_ == 1) {
        cells_.push_back(list_[0]);
      } else if (!AddList()) {
        return false;
      }
      ++width_;
    }
    return true;
  }

  void Filter(const Expression& condition) {
    size_t kept = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (!Evaluate(condition, tuple(i), width_, made_).IsTrue()) continue;
      if (kept != i) {
        std::copy_n(cells_.begin() + Offset(i * width_), width_,
                    cells_.begin() + Offset(kept * width_));
        std::copy_n(origins_.begin() + Offset(i * slots_), slots_,
                    origins_.begin() + Offset(kept * slots_));
      }
      ++kept;
    }
    count_ = kept;
    cells_.resize(count_ * width_);
    origins_.resize(count_ * slots_);
  }

  // Where the next slot's rows go, before Unpack: one of the two.
  struct Slot {
    Rows rows;
    BorrowedRows borrowed;
    bool borrows = false;

    size_t size() const { return borrows ? borrowed.weights.size() : rows.size(); }
    size_t width() const { return borrows ? borrowed.width : rows.width(); }
    uint64_t weight(size_t row) const { return borrows ? borrowed.weights[row] : rows.weight(row); }
    void AppendTo(std::vector<Cell>& cells, size_t row) const {
      if (borrows) {
        const Cell* const first = borrowed.cells.data() + row * borrowed.width;
        cells.insert(cells.end(), first, first + borrowed.width);
      } else {
        for (size_t k = 0; k < rows.width(); ++k) cells.push_back(Cell::Of(rows.columns(row)[k]));
      }
    }
  };
  Slot& NextSlot() {
    if (slots_ == unpacked_.size()) unpacked_.emplace_back();
    return unpacked_[slots_];
  }
  bool Unpack() {
    const Slot& slot = unpacked_[slots_];
    if (slot.size() != 0 && count_ > max_tuples_ / slot.size()) return false;
    if (count_ == 1 && slot.size() == 1) {
      slot.AppendTo(cells_, 0);
      origins_.push_back(0);
    } else {
      Multiply(slot);
    }
    width_ += slot.width();
    ++slots_;
    return true;
  }

  // What Grouping makes of the tuples.
  void Group(const Grouping& grouping, Rows& rows) {
    rows.Reset(grouping.columns.size(), grouping.aggregates.size());
    for (size_t i = 0; i < count_; ++i) {
      for (const Expression& column : grouping.columns) rows.AddColumn(CellOf(column, i).ToValue());
      const uint64_t weight = Weight(i, slots_);
      for (const AggregateInput& input : grouping.aggregates)
        AddTo(rows.NewState(input.aggregate.kind), i, input, weight);
      rows.EndRow(weight);
    }
  }

  // The same into groups that are there, for what need not be held back.
  void Fold(const Grouping& grouping, Results& results) {
    for (size_t i = 0; i < count_; ++i) {
      keys_.clear();
      for (const Expression& column : grouping.columns) keys_.push_back(CellOf(column, i));
      const uint64_t weight = Weight(i, slots_);
      AggregateState* const states = results.Fold(keys_.data(), weight);
      if (states == nullptr) continue;
      for (size_t k = 0; k < grouping.aggregates.size(); ++k)
        AddTo(states[k], i, grouping.aggregates[k], weight);
    }
  }

 private:
  // Most expressions only name a column, or a constant.
  Cell CellOf(const Expression& expression, size_t i) {
    if (expression.code.size() == 1) {
      const Instruction& only = expression.code[0];
      if (only.op == Op::kColumn && only.operand < width_) return tuple(i)[only.operand];
      if (only.op == Op::kConstant && only.operand < expression.constants.size())
        return Cell::Of(expression.constants[only.operand]);
    }
    return Evaluate(expression, tuple(i), width_, made_);
  }

  void AddTo(AggregateState& state, size_t i, const AggregateInput& input, uint64_t weight) {
    if (input.carried) {
      if (const AggregateState* carried = Carried(i, *input.carried))
        state.Merge(*carried, Weight(i, input.carried->unpack));
      return;
    }
    const Cell cell = CellOf(input.argument, i);
    if (cell.type == Cell::Type::kText && state.kind() == AggregateKind::kCount)
      return state.Add(Value(true), weight);
    state.Add(cell.ToValue(), weight);
  }

  // What an event has made for us is kept, and referred to like what it has.
  Event::Observed Borrow(Value value) {
    const Value& kept = observed_.emplace_back(std::move(value));
    const auto* list = std::get_if<List>(&kept);
    if (list == nullptr) {
      list_.push_back(Cell::Of(kept));
      return Event::Observed::kOne;
    }
    for (const Value& element : *list) list_.push_back(Cell::Of(element));
    return Event::Observed::kList;
  }

  static std::ptrdiff_t Offset(size_t i) { return static_cast<std::ptrdiff_t>(i); }

  // Every tuple so far with every element of the list.
  bool AddList() {
    if (!list_.empty() && count_ > max_tuples_ / list_.size()) return false;
    next_cells_.clear();
    next_cells_.reserve(count_ * list_.size() * (width_ + 1));
    for (size_t i = 0; i < count_; ++i) {
      for (const Cell& element : list_) {
        next_cells_.insert(next_cells_.end(), tuple(i), tuple(i) + width_);
        next_cells_.push_back(element);
      }
    }
    cells_.swap(next_cells_);
    count_ *= list_.size();
    return true;
  }

  // Every tuple so far with every row.
  void Multiply(const Slot& slot) {
    const size_t rows = slot.size(), joined = count_ * rows;
    next_cells_.clear();
    next_origins_.clear();
    next_cells_.reserve(joined * (width_ + slot.width()));
    next_origins_.reserve(joined * (slots_ + 1));
    for (size_t i = 0; i < count_; ++i) {
      for (size_t row = 0; row < rows; ++row) {
        next_cells_.insert(next_cells_.end(), tuple(i), tuple(i) + width_);
        slot.AppendTo(next_cells_, row);
        for (size_t k = 0; k < slots_; ++k) next_origins_.push_back(origins_[i * slots_ + k]);
        next_origins_.push_back(static_cast<uint32_t>(row));
      }
    }
    cells_.swap(next_cells_);
    origins_.swap(next_origins_);
    count_ = joined;
  }

  // How many equal tuples of the bag tuple `i` stands for, but for the share of unpack `except`.
  uint64_t Weight(size_t i, size_t except) const {
    uint64_t weight = 1;
    for (size_t k = 0; k < slots_; ++k) {
      if (k != except)
        weight = MultiplyCounts(weight, unpacked_[k].weight(origins_[i * slots_ + k]));
    }
    return weight;
  }

  const AggregateState* Carried(size_t i, const AggregateInput::Carried& carried) const {
    if (carried.unpack >= slots_) return nullptr;
    if (unpacked_[carried.unpack].borrows) return nullptr;  // it has none
    const Rows& rows = unpacked_[carried.unpack].rows;
    if (carried.state >= rows.state_width()) return nullptr;
    return rows.states(origins_[i * slots_ + carried.unpack]) + carried.state;
  }

  static constexpr size_t kKeptCells = 4096;
  size_t max_tuples_ = 0;
  size_t width_ = 0, count_ = 0, slots_ = 0;
  std::vector<Cell> cells_, next_cells_;
  std::vector<Cell> list_, keys_;  // for a moment
  std::vector<Value> observed_;    // what cells refer to
  MadeTexts made_;
  std::vector<Slot> unpacked_;  // the first `slots_`
  // Of each tuple, for each of them, the row it came from.
  std::vector<uint32_t> origins_, next_origins_;
};

// What an event packs and emits, held back until all of its advice has run.
struct Ending {
  const Step* step;
  Rows rows;
};

bool AllDifferent(const Rows& rows) {
  if (rows.size() > RowIndex::kLinear) return false;  // perhaps
  for (size_t row = 1; row < rows.size(); ++row) {
    for (size_t other = 0; other < row; ++other) {
      if (IdenticalColumns(rows.columns(row), rows.columns(other), rows.width())) return false;
    }
  }
  return true;
}

void FoldIdentical(Rows& rows) {
  if (rows.size() < 2 || AllDifferent(rows)) return;
  Slot slot;
  slot.columns = static_cast<uint32_t>(rows.width());
  slot.aggregates.resize(rows.state_width());
  PackedTuples folded;
  folded.Add(slot, rows);
  folded.SwapRows(rows);
}

bool Names(const Advice& advice, std::string_view tracepoint) {
  return std::find(advice.tracepoints.begin(), advice.tracepoints.end(), tracepoint) !=
         advice.tracepoints.end();
}

}  // namespace

struct Workspace::Parts {
  Flight flight;
  PackedTuples packed;
  std::vector<Ending> endings;  // the first `used`
  size_t used = 0;
  std::vector<const Advice*> named;  // those of this tracepoint

  Ending& NextEnding(const Step& step) {
    if (used == endings.size()) endings.emplace_back();
    endings[used].step = &step;
    return endings[used++];
  }

  // False: too many tuples.
  bool Run(const Program& program, const Advice& advice, const Event& event, Baggage& baggage,
           Results* folds, size_t max_tuples);
  bool Run(const Program& program, std::string_view tracepoint, const Event& event,
           Baggage& baggage, Emitter& emitter, size_t max_tuples);
  void GiveBackIfLarge() {
    if (!flight.large()) return;
    flight = Flight();
    packed = PackedTuples();
    endings.clear();
  }
};

Workspace::Workspace() : parts_(std::make_unique<Parts>()) {}
Workspace::~Workspace() = default;

bool Workspace::Parts::Run(const Program& program, const Advice& advice, const Event& event,
                           Baggage& baggage, Results* folds, size_t max_tuples) {
  flight.Begin(max_tuples);
  for (const Step& step : advice.steps) {
    if (const auto* observe = std::get_if<Observe>(&step)) {
      if (!flight.Observe(observe->variables, event)) return false;
    } else if (const auto* filter = std::get_if<Filter>(&step)) {
      flight.Filter(filter->condition);
    } else if (std::get_if<RequireTuples>(&step) != nullptr) {
      if (flight.size() == 0) return true;
    } else if (const auto* unpack = std::get_if<Unpack>(&step)) {
      if (flight.size() == 0) continue;
      Flight::Slot& slot = flight.NextSlot();
      slot.borrows = !unpack->finish && baggage.Borrow(program, unpack->slot, slot.borrowed);
      if (!slot.borrows) {
        baggage.UnpackInto(program, unpack->slot, packed);
        if (unpack->finish) {
          slot.rows = UnpackedRows(program, *unpack, std::move(packed));
        } else {
          packed.SwapRows(slot.rows);
        }
      }
      if (!flight.Unpack()) return false;
    } else if (const auto* pack = std::get_if<Pack>(&step)) {
      if (flight.size() == 0 && pack->keep == Keep::kAll) continue;
      Rows& rows = NextEnding(step).rows;
      flight.Group(pack->grouping, rows);
      FoldIdentical(rows);
    } else if (const auto* emit = std::get_if<Emit>(&step)) {
      if (flight.size() == 0) continue;
      // Nothing after it can go wrong: it is the last step of the only advice.
      if (folds != nullptr) {
        flight.Fold(emit->grouping, *folds);
      } else {
        flight.Group(emit->grouping, NextEnding(step).rows);
      }
    }
  }
  return true;
}

bool Workspace::Parts::Run(const Program& program, std::string_view tracepoint, const Event& event,
                           Baggage& baggage, Emitter& emitter, size_t max_tuples) {
  try {
    used = 0;
    named.clear();
    for (const Advice& advice : program.advice) {
      if (Names(advice, tracepoint)) named.push_back(&advice);
    }
    Results* const folds = named.size() == 1 ? emitter.Folds() : nullptr;
    for (const Advice* advice : named) {
      if (Run(program, *advice, event, baggage, folds, max_tuples)) continue;
      GiveBackIfLarge();
      return false;
    }
    for (size_t i = 0; i < used; ++i) {
      if (const auto* pack = std::get_if<Pack>(endings[i].step)) {
        baggage.PackRows(program, pack->slot, event.time_ns(), event.id(), endings[i].rows);
      } else {
        emitter.EmitRows(program, endings[i].rows);
      }
    }
    GiveBackIfLarge();
    return true;
  } catch (...) {  // out of memory, in someone else's process
    return false;
  }
}

Rows UnpackedRows(const Program& program, const Unpack& unpack, PackedTuples packed) {
  if (!unpack.finish || unpack.slot >= program.slots.size()) return packed.TakeRows();
  const std::vector<Aggregate>& aggregates = program.slots[unpack.slot].aggregates;
  const Rows groups = GroupRows(packed.rows());
  Rows finished(unpack.select.size(), 0);
  Tuple tuple;
  for (size_t row = 0; row < groups.size(); ++row) {
    tuple.assign(groups.columns(row), groups.columns(row) + groups.width());
    for (size_t i = 0; i < aggregates.size() && i < groups.state_width(); ++i)
      tuple.push_back(groups.states(row)[i].Finish(aggregates[i]));
    for (const Expression& column : unpack.select) finished.AddColumn(Evaluate(column, tuple));
    finished.EndRow(1);
  }
  return finished;
}

bool RunAdvice(const Program& program, std::string_view tracepoint, const Event& event,
               Baggage& baggage, Emitter& emitter, Workspace& workspace, size_t max_tuples) {
  return workspace.parts_->Run(program, tracepoint, event, baggage, emitter, max_tuples);
}

bool RunAdvice(const Program& program, std::string_view tracepoint, const Event& event,
               Baggage& baggage, Emitter& emitter, size_t max_tuples) {
  Workspace workspace;
  return RunAdvice(program, tracepoint, event, baggage, emitter, workspace, max_tuples);
}

}  // namespace wf::advice
