// The slots of a file that does not grow: which one is written, and which is next. What was released by the reader, or
// never used, comes first; else the oldest goes, and is counted.
#pragma once

#include <cstdint>

#include "recorder/format/records.h"

namespace wf::recorder {

class SlotRing {
 public:
  // `head`: the first kSlotHead bytes of the file, shared; only of a file of slots.
  void Open(SharedHead* head) {
    head_ = head;
    entries_ = reinterpret_cast<SlotEntry*>(head + 1);
  }
  bool on() const { return head_ != nullptr; }
  uint32_t number() const { return number_; }  // of the slot that is written
  // Begins the next slot. Its bytes may be written from begin() to end().
  void Next();
  uint64_t begin() const { return place_ * kSlotBytes + kSlotHead; }
  uint64_t end() const { return (place_ + 1) * kSlotBytes; }
  // All before this place of the file is whole.
  void Commit(uint64_t position);
  void Close(SlotUse how);

 private:
  SharedHead* head_ = nullptr;
  SlotEntry* entries_ = nullptr;
  uint32_t place_ = 0;
  uint32_t number_ = 0;
};

}  // namespace wf::recorder
