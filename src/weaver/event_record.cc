#include "weaver/event_record.h"

namespace wf::weaver {
namespace {

SlotForm FormOf(ValueForm form) {
  switch (form) {
    case ValueForm::kInteger:
    case ValueForm::kElapsed:
      return SlotForm::kInteger;
    case ValueForm::kBool:
      return SlotForm::kBool;
    case ValueForm::kDouble:
      return SlotForm::kDouble;
    case ValueForm::kFloat:
      return SlotForm::kFloat;
    case ValueForm::kCString:
    case ValueForm::kBytes:
      return SlotForm::kString;
    case ValueForm::kText:
      return SlotForm::kText;
    case ValueForm::kAtEntry:
    case ValueForm::kUnknown:
      break;
  }
  return SlotForm::kNull;
}

bool Loads(const Recipe& recipe) {
  for (const ReadStep& step : recipe)
    if (step.op == ReadOp::kLoad) return true;
  return false;
}

// What is found by the entry may not be there, memory may not be readable, and addresses may be zero.
bool MaybeNull(const WantedVariable& variable) {
  const ValueForm form = variable.read.form;
  return variable.from_entry || form == ValueForm::kElapsed || form == ValueForm::kCString ||
         form == ValueForm::kBytes || Loads(variable.read.value);
}

bool Narrow(const ValueRead& read) {
  if (read.form != ValueForm::kInteger || read.value.empty()) return false;
  const ReadStep& last = read.value.back();
  return (last.op == ReadOp::kSignExtend && last.width <= 32) ||
         (last.op == ReadOp::kZeroExtend && last.width < 32) ||
         (last.op == ReadOp::kLoad && last.width < 4);
}

}  // namespace

RecordLayout LayOut(const std::vector<WantedVariable>& wanted, uint32_t string_bytes) {
  RecordLayout layout;
  layout.string_bytes = (string_bytes + 7) / 8 * 8;
  for (const WantedVariable& variable : wanted) {
    VariableSlot slot;
    slot.name = variable.name;
    slot.export_index = variable.export_index;
    slot.form = FormOf(variable.read.form);
    slot.offset = static_cast<int16_t>(layout.bytes);
    slot.maybe_null = MaybeNull(variable);
    slot.narrow = Narrow(variable.read);
    if (slot.form == SlotForm::kText) slot.text = variable.read.text;
    if (slot.form == SlotForm::kString) {
      // Eight bytes more: one to see that the string goes on, the rest to keep slots aligned.
      layout.bytes += 8 + layout.string_bytes + 8;
    } else if (slot.form != SlotForm::kText && slot.form != SlotForm::kNull) {
      layout.bytes += 8;
    }
    layout.variables.push_back(std::move(slot));
  }
  return layout;
}

}  // namespace wf::weaver
