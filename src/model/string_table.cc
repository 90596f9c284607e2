#include "model/string_table.h"

#include "base/hash.h"

namespace wf {

StringTable::StringTable() : ends_{0, 0}, slots_(64, 0) {
  slots_[HashBytes({}) & (slots_.size() - 1)] = 1;
}

uint32_t StringTable::Find(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = HashBytes(text) & mask; slots_[i] != 0; i = (i + 1) & mask) {
    if (At(slots_[i] - 1) == text) return slots_[i] - 1;
  }
  return UINT32_MAX;
}

uint32_t StringTable::Intern(std::string_view text) {
  size_t mask = slots_.size() - 1;
  size_t i = HashBytes(text) & mask;
  for (; slots_[i] != 0; i = (i + 1) & mask) {
    if (At(slots_[i] - 1) == text) return slots_[i] - 1;
  }
  const auto code = static_cast<uint32_t>(size());
  bytes_.append(text);
  ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  slots_[i] = code + 1;
  if (size() * 2 > slots_.size()) Grow();
  return code;
}

void StringTable::Grow() {
  slots_.assign(slots_.size() * 4, 0);
  const size_t mask = slots_.size() - 1;
  for (uint32_t code = 0; code < size(); ++code) {
    size_t i = HashBytes(At(code)) & mask;
    while (slots_[i] != 0) i = (i + 1) & mask;
    slots_[i] = code + 1;
  }
}

size_t StringTable::MemoryBytes() const {
  return bytes_.capacity() + (ends_.capacity() + slots_.capacity()) * sizeof(uint32_t);
}

}  // namespace wf
