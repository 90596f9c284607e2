// EventTexts: the texts of an execution ↔ small integer codes. Like StringTable, but for a million texts that
// are nearly all different: a slot keeps a part of the hash beside the code, so that growing, and looking up
// a missing text, touch the slots only. A text that is never looked up can be kept without a slot.
// (StringTable took half of the time of reading a million events.) Code 0 is the empty text. Thread safety:
// none while texts are added; At and Find may be called from many threads afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace wf::provenance {

class EventTexts {
 public:
  EventTexts() : ends_{0, 0}, slots_(64) {}

  // Expects about this many texts.
  void Reserve(size_t texts) {
    size_t slots = slots_.size();
    while (slots * 2 < texts * 3) slots *= 2;
    if (slots > slots_.size()) Resize(slots);
  }

  uint32_t Intern(std::string_view text) {
    if (text.empty()) return 0;
    const auto tag = static_cast<uint32_t>(HashBytes(text));
    size_t i = tag & (slots_.size() - 1);
    for (; slots_[i].code != 0; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].tag == tag && At(slots_[i].code) == text) return slots_[i].code;
    }
    const uint32_t code = Keep(text);
    slots_[i] = {tag, code};
    if (++used_ * 3 > slots_.size() * 2) Resize(slots_.size() * 2);
    return code;
  }

  // Gives the text a new code, even if the text exists already; Find does not return this code.
  uint32_t Keep(std::string_view text) {
    if (text.empty()) return 0;
    bytes_.append(text);
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    return static_cast<uint32_t>(size() - 1);
  }

  // Code of a text that was interned, or UINT32_MAX.
  uint32_t Find(std::string_view text) const {
    if (text.empty()) return 0;
    const auto tag = static_cast<uint32_t>(HashBytes(text));
    for (size_t i = tag & (slots_.size() - 1); slots_[i].code != 0;
         i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].tag == tag && At(slots_[i].code) == text) return slots_[i].code;
    }
    return UINT32_MAX;
  }

  std::string_view At(uint32_t code) const {
    return std::string_view(bytes_).substr(ends_[code], ends_[code + 1] - ends_[code]);
  }
  size_t size() const { return ends_.size() - 1; }

 private:
  struct Slot {
    uint32_t tag = 0, code = 0;  // code 0: free
  };

  void Resize(size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.code == 0) continue;
      size_t i = slot.tag & (slots - 1);
      while (slots_[i].code != 0) i = (i + 1) & (slots - 1);
      slots_[i] = slot;
    }
  }

  std::string bytes_;
  std::vector<uint32_t> ends_;
  std::vector<Slot> slots_;  // open addressing; a power of two, at most two thirds full
  size_t used_ = 0;
};

}  // namespace wf::provenance
