// Advice is a straight line over a set of tuples in flight: Observe makes the first, Unpack multiplies, Filter thins
// out, Pack or Emit ends it. Flat arrays, because most events have one tuple and must cost little.
#include "advice/interpreter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "advice/results.h"

namespace wf::advice {
namespace {

Value Clean(Value value) {
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr && !std::isfinite(*real)) return Null();
  return value;
}

class Flight {
 public:
  explicit Flight(size_t max_tuples) : max_tuples_(max_tuples) {}
  size_t size() const { return count_; }
  const Value* tuple(size_t i) const { return values_.data() + i * width_; }
  size_t width() const { return width_; }

  bool Observe(const std::vector<std::string>& variables, const Event& event) {
    count_ = 1;
    values_.reserve(variables.size());
    for (const std::string& name : variables) {
      Value value = event.Variable(name);
      const auto* list = std::get_if<List>(&value);
      if (list == nullptr) {
        AddColumn(Clean(std::move(value)));
      } else if (!AddList(*list)) {
        return false;
      }
      ++width_;
    }
    return true;
  }

  void Filter(const Expression& condition) {
    size_t kept = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (!IsTrue(condition, tuple(i), width_)) continue;
      if (kept != i) {
        std::move(values_.begin() + Offset(i * width_), values_.begin() + Offset((i + 1) * width_),
                  values_.begin() + Offset(kept * width_));
        const size_t n = slots_.size();
        std::copy_n(origins_.begin() + Offset(i * n), n, origins_.begin() + Offset(kept * n));
      }
      ++kept;
    }
    count_ = kept;
    values_.resize(count_ * width_);
    origins_.resize(count_ * slots_.size());
  }

  bool Unpack(Rows rows) {
    const size_t joined = count_ * rows.size();
    if (rows.size() != 0 && count_ > max_tuples_ / rows.size()) return false;
    std::vector<Value> values;
    std::vector<uint32_t> origins;
    values.reserve(joined * (width_ + rows.width()));
    origins.reserve(joined * (slots_.size() + 1));
    for (size_t i = 0; i < count_; ++i) {
      for (size_t row = 0; row < rows.size(); ++row) {
        for (size_t k = 0; k < width_; ++k) values.push_back(tuple(i)[k]);
        for (size_t k = 0; k < rows.width(); ++k) values.push_back(rows.columns(row)[k]);
        for (size_t k = 0; k < slots_.size(); ++k)
          origins.push_back(origins_[i * slots_.size() + k]);
        origins.push_back(static_cast<uint32_t>(row));
      }
    }
    values_ = std::move(values);
    origins_ = std::move(origins);
    width_ += rows.width();
    count_ = joined;
    slots_.push_back(std::move(rows));
    return true;
  }

  // What Grouping makes of the tuples.
  Rows Group(const Grouping& grouping) const {
    Rows rows(grouping.columns.size(), grouping.aggregates.size());
    rows.Reserve(count_);
    for (size_t i = 0; i < count_; ++i) {
      for (const Expression& column : grouping.columns)
        rows.AddColumn(Evaluate(column, tuple(i), width_));
      const uint64_t weight = Weight(i, slots_.size());
      for (const AggregateInput& input : grouping.aggregates) {
        AggregateState state(input.aggregate.kind);
        if (!input.carried) {
          state.Add(Evaluate(input.argument, tuple(i), width_), weight);
        } else if (const AggregateState* carried = Carried(i, *input.carried)) {
          state.Merge(*carried, Weight(i, input.carried->unpack));
        }
        rows.AddState(std::move(state));
      }
      rows.EndRow(weight);
    }
    return rows;
  }

 private:
  static std::ptrdiff_t Offset(size_t i) { return static_cast<std::ptrdiff_t>(i); }

  void AddColumn(Value value) {
    if (count_ == 1) return values_.push_back(std::move(value));
    AddList({std::move(value)});
  }

  // Every tuple so far with every element.
  bool AddList(const List& list) {
    if (!list.empty() && count_ > max_tuples_ / list.size()) return false;
    std::vector<Value> values;
    values.reserve(count_ * list.size() * (width_ + 1));
    for (size_t i = 0; i < count_; ++i) {
      for (const Value& element : list) {
        for (size_t k = 0; k < width_; ++k) values.push_back(tuple(i)[k]);
        values.push_back(std::holds_alternative<List>(element) ? Value() : Clean(element));
      }
    }
    values_ = std::move(values);
    count_ *= list.size();
    return true;
  }

  // How many equal tuples of the bag tuple `i` stands for, but for the share of unpack `except`.
  uint64_t Weight(size_t i, size_t except) const {
    uint64_t weight = 1;
    for (size_t k = 0; k < slots_.size(); ++k) {
      if (k != except)
        weight = MultiplyCounts(weight, slots_[k].weight(origins_[i * slots_.size() + k]));
    }
    return weight;
  }

  const AggregateState* Carried(size_t i, const AggregateInput::Carried& carried) const {
    if (carried.unpack >= slots_.size()) return nullptr;
    const Rows& rows = slots_[carried.unpack];
    if (carried.state >= rows.state_width()) return nullptr;
    return rows.states(origins_[i * slots_.size() + carried.unpack]) + carried.state;
  }

  size_t max_tuples_;
  size_t width_ = 0, count_ = 0;
  std::vector<Value> values_;
  std::vector<Rows> slots_;
  std::vector<uint32_t> origins_;  // of each tuple, for each unpacked slot, the row it came from
};

// What an event packs and emits, held back until all of its advice has run.
struct Ending {
  const Step* step;
  Rows rows;
};

Rows FoldIdentical(Rows rows) {
  if (rows.size() < 2) return rows;
  Slot slot;
  slot.columns = static_cast<uint32_t>(rows.width());
  slot.aggregates.resize(rows.state_width());
  PackedTuples folded;
  folded.Add(slot, rows);
  return folded.rows();
}

bool Names(const Advice& advice, std::string_view tracepoint) {
  return std::find(advice.tracepoints.begin(), advice.tracepoints.end(), tracepoint) !=
         advice.tracepoints.end();
}

// False: too many tuples.
bool Run(const Program& program, const Advice& advice, const Event& event, Baggage& baggage,
         size_t max_tuples, std::vector<Ending>& endings) {
  Flight flight(max_tuples);
  for (const Step& step : advice.steps) {
    if (const auto* observe = std::get_if<Observe>(&step)) {
      if (!flight.Observe(observe->variables, event)) return false;
    } else if (const auto* filter = std::get_if<Filter>(&step)) {
      flight.Filter(filter->condition);
    } else if (std::get_if<RequireTuples>(&step) != nullptr) {
      if (flight.size() == 0) return true;
    } else if (const auto* unpack = std::get_if<Unpack>(&step)) {
      if (flight.size() == 0) continue;
      if (!flight.Unpack(UnpackedRows(program, *unpack, baggage.Unpack(program, unpack->slot))))
        return false;
    } else if (const auto* pack = std::get_if<Pack>(&step)) {
      if (flight.size() == 0 && pack->keep == Keep::kAll) continue;
      endings.push_back({&step, FoldIdentical(flight.Group(pack->grouping))});
    } else if (const auto* emit = std::get_if<Emit>(&step)) {
      if (flight.size() == 0) continue;
      endings.push_back({&step, flight.Group(emit->grouping)});
    }
  }
  return true;
}

}  // namespace

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
               Baggage& baggage, Emitter& emitter, size_t max_tuples) {
  try {
    std::vector<Ending> endings;
    for (const Advice& advice : program.advice) {
      if (Names(advice, tracepoint) && !Run(program, advice, event, baggage, max_tuples, endings))
        return false;
    }
    for (Ending& ending : endings) {
      if (const auto* pack = std::get_if<Pack>(ending.step)) {
        baggage.Pack(program, pack->slot, event.time_ns(), event.id(), std::move(ending.rows));
      } else {
        emitter.EmitTuples(program, std::move(ending.rows));
      }
    }
    return true;
  } catch (...) {  // out of memory, in someone else's process
    return false;
  }
}

}  // namespace wf::advice
