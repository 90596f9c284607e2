#include "client/queries/quick_advice.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "base/short_bytes.h"
#include "client/queries/tracepoint_registry.h"

namespace wherefore::client {

using wf::advice::AggregateKind;
using wf::advice::AggregateState;
using wf::advice::Cell;
using wf::advice::Expression;
using wf::advice::Op;

// The tuples, on the stack: `count` of `width` cells each, and how many equal ones each stands for.
struct QuickAdvice::Flight {
  static constexpr size_t kMostCells = 64, kMostTuples = 16;

  explicit Flight(wf::advice::MadeTexts& texts) : made(texts) {}

  Cell* tuple(size_t i) { return cells + i * width; }

  size_t width = 0, count = 1;
  bool weighted = false;  // some weight is not 1
  bool borrows_active = false;
  wf::advice::MadeTexts& made;
  uint64_t weights[kMostTuples];
  Cell cells[kMostCells];
};

// --- Making ready

bool QuickAdvice::ColumnOf(const Expression& expression, Column& column) {
  if (expression.code.size() == 1 && expression.code[0].op == Op::kColumn) {
    if (expression.code[0].operand > UINT8_MAX) return false;
    column.column = static_cast<uint8_t>(expression.code[0].operand);
    return true;
  }
  column.computed = true;
  column.column = expression_count_;
  expressions_[expression_count_++] = &expression;
  return true;
}

QuickAdvice::QuickAdvice(const LiveQuery& query, const internal::Tracepoint& tracepoint,
                         const ProcessIdentity* process) {
  if (query.program.sample || query.plan != QueryPlan::kRewritten) return;
  const wf::advice::Advice* only = nullptr;
  for (const wf::advice::Advice& advice : query.program.advice) {
    const auto& names = advice.tracepoints;
    if (std::find(names.begin(), names.end(), tracepoint.name) == names.end()) continue;
    if (only != nullptr) return;  // an event does not join itself: the interpreter knows how
    only = &advice;
  }
  if (only == nullptr) return;
  for (const wf::advice::Step& step : only->steps) {
    if (!Add(query, step)) return;
  }
  const std::vector<std::string> fields = FieldNames(tracepoint.fields);
  for (size_t i = 0; i < variable_count_; ++i) {
    Variable& variable = variables_[i];
    const std::string_view name(variable.name, variable.size);
    const auto at = std::find(fields.begin(), fields.end(), name);
    if (at != fields.end() && at - fields.begin() < 256)
      variable.field = static_cast<uint8_t>(at - fields.begin());
  }
  query_ = query.program.query;
  slots_ = static_cast<uint32_t>(query.program.slots.size());
  looks_ = slots_ != 0;
  limits_ = query.limits;
  ready_ = true;
  if (process != nullptr) MakeConstant(HitEvent(tracepoint, *process, nullptr, 0));
}

// A bag of what names the process, as most queries pack of who asks: nothing of a hit is in it.
void QuickAdvice::MakeConstant(const HitEvent& event) {
  if (ending_ != Ending::kPack || step_count_ != 0 || column_count_ == 0) return;
  Cell cells[kMostColumns];
  for (size_t k = 0; k < column_count_; ++k) {
    if (columns_[k].computed || columns_[k].column >= variable_count_) return;
    cells[k] = event.Default(variables_[columns_[k].column].is);
  }
  for (size_t i = 0; i < variable_count_; ++i) {  // any other may be a list
    const DefaultVariable is = variables_[i].is;
    if (is == DefaultVariable::kNone || is == DefaultVariable::kTime) return;
  }
  auto log = std::make_shared<TupleLog>();
  if (log->Add(cells, column_count_, 1) == TupleLog::Added::kAdded) constant_ = std::move(log);
}

bool QuickAdvice::Add(const LiveQuery& query, const wf::advice::Step& step) {
  const auto& slots = query.program.slots;
  if (const auto* observe = std::get_if<wf::advice::Observe>(&step)) {
    if (variable_count_ != 0 || step_count_ != 0 || observe->variables.size() > kMostVariables)
      return false;
    for (const std::string& name : observe->variables) {
      if (name.size() > UINT16_MAX) return false;
      Variable& variable = variables_[variable_count_++];
      variable.is = DefaultNamed(name);
      variable.name = name.data();
      variable.size = static_cast<uint16_t>(name.size());
    }
    return true;
  }
  if (std::get_if<wf::advice::RequireTuples>(&step) != nullptr) return true;  // Run sees to it
  if (const auto* filter = std::get_if<wf::advice::Filter>(&step)) {
    if (step_count_ == kMostSteps) return false;
    AddFilter(filter->condition);
    return true;
  }
  if (const auto* unpack = std::get_if<wf::advice::Unpack>(&step)) {
    if (step_count_ == kMostSteps || unpack->finish || !slots[unpack->slot].aggregates.empty())
      return false;
    steps_[step_count_++] = {&slots[unpack->slot], unpack->slot};
    return true;
  }
  if (const auto* pack = std::get_if<wf::advice::Pack>(&step)) {
    if (!pack->grouping.aggregates.empty()) return false;
    if (pack->keep != wf::advice::Keep::kAll && pack->limit != 1) return false;
    ending_ = pack->keep == wf::advice::Keep::kAll ? Ending::kPack : Ending::kKeep;
    slot_ = pack->slot;
    pack_rule_ = &slots[pack->slot];
    return AddEnding(pack->grouping);
  }
  const auto* emit = std::get_if<wf::advice::Emit>(&step);
  return emit != nullptr && AddEnding(emit->grouping);
}

void QuickAdvice::AddFilter(const Expression& condition) {
  Step& step = steps_[step_count_++];
  step.number = expression_count_;
  expressions_[expression_count_++] = &condition;
  const auto& code = condition.code;
  if (code.size() != 3 || code[0].op != Op::kColumn || code[1].op != Op::kColumn ||
      code[0].operand > UINT8_MAX || code[1].operand > UINT8_MAX) {
    return;
  }
  if (code[2].op == Op::kEqual) step.test = Step::Test::kEqual;
  if (code[2].op == Op::kNotEqual) step.test = Step::Test::kNotEqual;
  step.left = static_cast<uint8_t>(code[0].operand);
  step.right = static_cast<uint8_t>(code[1].operand);
}

bool QuickAdvice::AddEnding(const wf::advice::Grouping& grouping) {
  if (grouping.columns.size() > kMostColumns || grouping.aggregates.size() > kMostSums)
    return false;
  for (const Expression& column : grouping.columns) {
    if (!ColumnOf(column, columns_[column_count_++])) return false;
  }
  for (const wf::advice::AggregateInput& input : grouping.aggregates) {
    const Expression& argument = input.argument;
    Sum& sum = sums_[sum_count_++];
    sum.kind = input.aggregate.kind;
    if (input.carried || !ColumnOf(argument, sum.argument)) return false;
    sum.counts = sum.kind == AggregateKind::kCount && argument.code.size() == 1 &&
                 argument.code[0].op == Op::kConstant &&
                 !argument.constants[argument.code[0].operand].null();
  }
  return true;
}

// --- Running

bool QuickAdvice::Observe(const HitEvent& event, Flight& flight) const {
  const FieldValue* list = nullptr;
  size_t list_column = 0;
  for (size_t i = 0; i < variable_count_; ++i) {
    const Variable& variable = variables_[i];
    Cell& cell = flight.cells[i];
    if (variable.is != DefaultVariable::kNone) {
      cell = event.Default(variable.is);
      continue;
    }
    // Where it is expected; a place may have named it twice, and then it is the first.
    if (variable.field >= event.field_count()) return false;
    const TracepointField& field = event.fields()[variable.field];
    if (field.name.size() != variable.size ||
        (field.name.data() != variable.name &&
         std::memcmp(field.name.data(), variable.name, variable.size) != 0)) {
      return false;
    }
    if (!field.value.list()) {
      cell = CellOf(field.value);
      continue;
    }
    if (list != nullptr) return false;
    list = &field.value;
    list_column = i;
  }
  const size_t width = flight.width = variable_count_;
  flight.weights[0] = 1;
  if (list == nullptr) return true;
  const size_t elements = list->size();
  if (elements > Flight::kMostTuples || elements * width > Flight::kMostCells) return false;
  for (size_t i = 0; i < elements; ++i) {
    if (i != 0) std::copy_n(flight.cells, width, flight.tuple(i));
    flight.weights[i] = 1;
  }
  for (size_t i = 0; i < elements; ++i) flight.tuple(i)[list_column] = CellAt(*list, i);
  flight.count = elements;
  return true;
}

// Every tuple with every row that the slot holds.
bool QuickAdvice::Unpack(const Step& step, const BaggageLine::Found& found, Flight& flight) const {
  const size_t width = step.rule->columns, before = flight.width, wide = before + width;
  // Behind the one tuple that nearly always flies, or where there is room for them for a moment.
  Cell spare[Flight::kMostCells];
  uint64_t spare_weights[Flight::kMostTuples];
  const bool one = flight.count == 1;
  const wf::advice::CellRoom all{one ? flight.cells + before : spare,
                                 Flight::kMostCells - (one ? before : 0), one ? wide : width,
                                 one ? flight.weights : spare_weights, Flight::kMostTuples};
  const uint64_t weight = flight.weights[0];
  size_t count = 0, holders = 0;
  for (size_t i = 0; i < found.count; ++i) {
    const BaggageLine::Found::Entry& entry = found.entries[i];
    if (entry.slot != step.number) continue;
    if (entry.active != nullptr && entry.active->empty()) continue;
    // Bags add up; of events some would have to give way.
    if (++holders > 1 && step.rule->keep != wf::advice::Keep::kAll) return false;
    flight.borrows_active = flight.borrows_active || entry.active != nullptr;
    wf::advice::CellRoom room = all;
    const size_t used = count * room.stride;
    if (used > room.most_cells) return false;
    room.cells += used;
    room.most_cells -= used;
    room.weights += count;
    room.most_rows -= count;
    const size_t more = wf::advice::DecodeCells(
        *step.rule, entry.active != nullptr ? entry.active->Encoded() : entry.payload, room);
    if (more == wf::advice::kNoRows) return false;
    count += more;
  }
  for (size_t row = 0; row < count; ++row)
    flight.weighted = flight.weighted || all.weights[row] != 1;
  if (!one) return Multiply(spare, spare_weights, count, width, flight);
  flight.count = count;
  flight.width = wide;
  for (size_t row = 1; row < count; ++row) std::copy_n(flight.cells, before, flight.tuple(row));
  if (weight == 1) return true;
  for (size_t row = 0; row < count; ++row)
    flight.weights[row] = wf::advice::MultiplyCounts(weight, flight.weights[row]);
  return true;
}

bool QuickAdvice::Multiply(const Cell* rows, const uint64_t* weights, size_t count, size_t width,
                           Flight& flight) const {
  const size_t before = flight.count, wide = flight.width + width;
  if (before * count > Flight::kMostTuples || before * count * wide > Flight::kMostCells)
    return false;
  // From the end, so that no tuple is overwritten before it has been used: the place of one is never before it.
  if (count == 1 && width == 1 && flight.width == 1) {  // as a list of names with one name
    for (size_t i = before; i-- > 0;) {
      const Cell mine = flight.cells[i];
      flight.cells[2 * i] = mine;
      flight.cells[2 * i + 1] = rows[0];
      flight.weights[i] = wf::advice::MultiplyCounts(flight.weights[i], weights[0]);
    }
    flight.width = wide;
    return true;
  }
  for (size_t i = before; i-- > 0;) {
    const uint64_t weight = flight.weights[i];
    for (size_t row = count; row-- > 0;) {
      Cell* const to = flight.cells + (i * count + row) * wide;
      if (i != 0 || row != 0) {
        for (size_t k = flight.width; k-- > 0;) to[k] = flight.tuple(i)[k];
      }
      for (size_t k = 0; k < width; ++k) to[flight.width + k] = rows[row * width + k];
      flight.weights[i * count + row] = wf::advice::MultiplyCounts(weight, weights[row]);
    }
  }
  flight.count = before * count;
  flight.width = wide;
  return true;
}

bool QuickAdvice::Passes(const Step& step, Flight& flight, size_t tuple) const {
  const Cell* const cells = flight.tuple(tuple);
  if (step.test != Step::Test::kOther) {
    const Cell &left = cells[step.left], &right = cells[step.right];
    if (left.type == Cell::Type::kText && right.type == Cell::Type::kText) {
      const bool equal = left.size == right.size && wf::SameBytes(left.text, right.text, left.size);
      return equal == (step.test == Step::Test::kEqual);
    }
  }
  return Evaluate(*expressions_[step.number], cells, flight.width, flight.made).IsTrue();
}

Cell QuickAdvice::At(const Column& column, Flight& flight, size_t tuple) const {
  if (!column.computed) return flight.tuple(tuple)[column.column];
  return Evaluate(*expressions_[column.column], flight.tuple(tuple), flight.width, flight.made);
}

bool QuickAdvice::Pack(const HitEvent& event, BaggageLine& line, const BaggageLine::Found& found,
                       QueryInterval& interval, Flight& flight) const {
  // What is packed may move what was borrowed.
  if (flight.weighted || flight.borrows_active) return false;
  if (flight.count == 0) return ending_ == Ending::kPack;
  Cell packed[Flight::kMostCells];
  if (flight.count * column_count_ > Flight::kMostCells) return false;
  for (size_t i = 0; i < flight.count; ++i) {
    for (size_t k = 0; k < column_count_; ++k)
      packed[i * column_count_ + k] = At(columns_[k], flight, i);
  }
  BaggageLine::Held held;
  if (ending_ == Ending::kPack) {
    if (!line.PackCells(found, query_, slot_, *pack_rule_, limits_, packed, flight.count, held))
      return false;
  } else if (flight.count != 1 || !line.KeepCells(found, query_, slot_, *pack_rule_, limits_,
                                                  event.time_ns(), event.id(), packed, held)) {
    return false;
  }
  interval.NoteHeld(line, held);
  return true;
}

void QuickAdvice::Emit(QueryInterval& interval, Flight& flight) const {
  Cell keys[kMostColumns];
  for (size_t i = 0; i < flight.count; ++i) {
    for (size_t k = 0; k < column_count_; ++k) keys[k] = At(columns_[k], flight, i);
    const uint64_t weight = flight.weights[i];
    AggregateState* const states = interval.results.Fold(keys, weight);
    if (states == nullptr) continue;
    for (size_t k = 0; k < sum_count_; ++k) {
      const Sum& sum = sums_[k];
      if (sum.counts) {
        states[k].AddCount(weight);
      } else {
        const Cell cell = At(sum.argument, flight, i);
        if (sum.kind != AggregateKind::kCount) {
          states[k].Add(cell.ToValue(), weight);
        } else if (!cell.null()) {
          states[k].AddCount(weight);
        }
      }
    }
  }
}

bool QuickAdvice::Run(const HitEvent& event, BaggageLine* line, QueryInterval& interval,
                      wf::advice::MadeTexts& made) const {
  BaggageLine::Found found;
  if (looks_) {
    if (line != nullptr && !line->Look(query_, found)) return false;
    // What lies behind the program's slots says that the request runs on the emit plan (causal_past.h).
    for (size_t i = 0; i < found.count; ++i) {
      if (found.entries[i].slot >= slots_) return false;
    }
  }
  if (constant_ != nullptr && line != nullptr) {
    BaggageLine::Held held;
    if (line->PackReady(found, query_, slot_, *pack_rule_, limits_, *constant_, held)) {
      interval.NoteHeld(*line, held);
      return true;
    }
  }
  Flight flight(made);
  if (!Observe(event, flight)) return false;
  for (size_t i = 0; i < step_count_ && flight.count != 0; ++i) {
    const Step& step = steps_[i];
    if (step.rule != nullptr) {
      if (!Unpack(step, found, flight)) return false;
      continue;
    }
    size_t kept = 0;
    for (size_t k = 0; k < flight.count; ++k) {
      if (!Passes(step, flight, k)) continue;
      if (kept != k) {
        std::copy_n(flight.tuple(k), flight.width, flight.tuple(kept));
        flight.weights[kept] = flight.weights[k];
      }
      ++kept;
    }
    flight.count = kept;
  }
  if (ending_ != Ending::kEmit)
    return line == nullptr || Pack(event, *line, found, interval, flight);
  Emit(interval, flight);
  return true;
}

}  // namespace wherefore::client
