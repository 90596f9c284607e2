#include "client/queries/hit_event.h"

#include "client/runtime/block_id.h"
#include "client/runtime/tick_clock.h"

namespace wherefore::client {

using wf::advice::Cell;
using wf::advice::List;
using wf::advice::Value;

namespace {

Cell UnsignedCell(int64_t bits) {
  // As queries do with numbers beyond 64 bits.
  if (bits < 0) return Cell::Of(static_cast<double>(static_cast<uint64_t>(bits)));
  return Cell::Of(bits);
}

}  // namespace

DefaultVariable DefaultNamed(std::string_view name) {
  if (name == "time") return DefaultVariable::kTime;
  if (name == "host") return DefaultVariable::kHost;
  if (name == "procName") return DefaultVariable::kProcName;
  if (name == "procId") return DefaultVariable::kProcId;
  if (name == "tracepoint") return DefaultVariable::kTracepoint;
  return DefaultVariable::kNone;
}

Cell CellOf(const FieldValue& field) {
  switch (field.type()) {
    case FieldValue::Type::kInteger:
      return Cell::Of(field.integer());
    case FieldValue::Type::kUnsigned:
      return UnsignedCell(field.integer());
    case FieldValue::Type::kDouble:
      return Cell::Of(field.real());
    case FieldValue::Type::kBool:
      return Cell::Of(field.integer() != 0);
    case FieldValue::Type::kText:
      return Cell::Of(field.text());
  }
  return Cell::Null();
}

Cell CellAt(const FieldValue& list, size_t element) {
  switch (list.type()) {
    case FieldValue::Type::kInteger:
    case FieldValue::Type::kBool:
      return Cell::Of(list.IntegerAt(element));
    case FieldValue::Type::kUnsigned:
      return UnsignedCell(list.IntegerAt(element));
    case FieldValue::Type::kDouble:
      return Cell::Of(list.RealAt(element));
    case FieldValue::Type::kText:
      return Cell::Of(list.TextAt(element));
  }
  return Cell::Null();
}

[[gnu::hot]] int64_t HitEvent::time_ns() const {
  if (time_ns_ == 0) time_ns_ = ClockNs(CLOCK_REALTIME);
  return time_ns_;
}

uint64_t HitEvent::number() const {
  if (number_ == 0) number_ = NewBlockId();
  return number_;
}

std::string_view HitEvent::id() const {
  number();
  return {reinterpret_cast<const char*>(&number_), sizeof number_};
}

Cell HitEvent::Default(DefaultVariable which) const {
  switch (which) {
    case DefaultVariable::kTime:
      return Cell::Of(time_ns());
    case DefaultVariable::kHost:
      return Cell::Of(std::string_view(process_.host));
    case DefaultVariable::kProcName:
      return Cell::Of(std::string_view(process_.name));
    case DefaultVariable::kProcId:
      return Cell::Of(process_.pid);
    case DefaultVariable::kTracepoint:
      return Cell::Of(std::string_view(tracepoint_.name));
    case DefaultVariable::kNone:
      break;
  }
  return Cell::Null();
}

// For what outlives the hit.
Value HitEvent::Variable(std::string_view name) const {
  std::vector<Cell> cells;
  if (Observe(name, cells) == Observed::kOne) return cells[0].ToValue();
  List list;
  list.reserve(cells.size());
  for (const Cell& cell : cells) list.push_back(cell.ToValue());
  return list;
}

wf::advice::Event::Observed HitEvent::Observe(std::string_view name,
                                              std::vector<Cell>& into) const {
  // Defaults win: a program cannot give another host.
  if (const DefaultVariable which = DefaultNamed(name); which != DefaultVariable::kNone) {
    into.push_back(Default(which));
    return Observed::kOne;
  }
  for (size_t i = 0; i < count_; ++i) {
    if (fields_[i].name != name) continue;
    const FieldValue& value = fields_[i].value;
    if (!value.list()) {
      into.push_back(CellOf(value));
      return Observed::kOne;
    }
    for (size_t element = 0; element < value.size(); ++element)
      into.push_back(CellAt(value, element));
    return Observed::kList;
  }
  into.push_back(Cell::Null());
  return Observed::kOne;
}

}  // namespace wherefore::client
