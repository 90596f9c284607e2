#include "weaver/record_event.h"

#include <algorithm>
#include <cstring>

namespace wf::weaver {

RecordEvent::RecordEvent(std::string_view bytes, const RecordLayout& layout,
                         std::string_view tracepoint, ProcessNames& names, uint64_t number)
    : bytes_(bytes), layout_(layout), tracepoint_(tracepoint), names_(names) {
  std::memcpy(&header_, bytes.data(), sizeof header_);
  // Compared by bytes: the first one first.
  for (size_t i = 0; i < id_.size(); ++i) id_[i] = static_cast<char>(number >> (56 - 8 * i));
}

advice::Value RecordEvent::Variable(std::string_view name) const {
  if (name == "time") return static_cast<int64_t>(header_.time);
  if (name == "procId") return static_cast<int64_t>(header_.process);
  if (name == "procName") return names_.Name(static_cast<uint32_t>(header_.process));
  if (name == "host") return names_.Host(static_cast<uint32_t>(header_.process));
  if (name == "tracepoint") return std::string(tracepoint_);
  for (size_t i = 0; i < layout_.variables.size(); ++i)
    if (layout_.variables[i].name == name) return Slot(i);
  return {};
}

advice::Value RecordEvent::Slot(size_t variable) const {
  const VariableSlot& slot = layout_.variables[variable];
  if (slot.form == SlotForm::kNull || (header_.nulls >> variable & 1) != 0) return {};
  if (slot.form == SlotForm::kText) return slot.text;
  uint64_t word = 0;
  std::memcpy(&word, bytes_.data() + slot.offset, sizeof word);
  switch (slot.form) {
    case SlotForm::kInteger:
      return static_cast<int64_t>(word);
    case SlotForm::kBool:
      return word != 0;
    case SlotForm::kDouble: {
      double real = 0;
      std::memcpy(&real, &word, sizeof real);
      return real;
    }
    case SlotForm::kFloat: {
      float real = 0;
      std::memcpy(&real, &word, sizeof real);
      return static_cast<double>(real);
    }
    default:
      break;
  }
  return std::string(bytes_.substr(static_cast<size_t>(slot.offset) + 8,
                                   std::min<uint64_t>(word, layout_.string_bytes)));
}

}  // namespace wf::weaver
