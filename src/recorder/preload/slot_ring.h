// The slots of a file that does not grow: which one is written, and which is next. Slots that the reader
// released, or that were never used, come first; otherwise the oldest is overwritten, and counted.
#pragma once

#include <cstdint>

#include "recorder/format/records.h"

namespace wf::recorder {

class SlotRing {
 public:
  // `head`: the first kSlotHead bytes of the file, shared. For a file of slots only.
  void Open(SharedHead* head) {
    head_ = head;
    entries_ = reinterpret_cast<SlotEntry*>(head + 1);
  }
  bool on() const { return head_ != nullptr; }
  uint32_t number() const { return number_; }  // of the slot being written
  // Begins the next slot. Its bytes may be written from begin() to end().
  void Next();
  uint64_t begin() const { return place_ * kSlotBytes + kSlotHead; }
  uint64_t end() const { return (place_ + 1) * kSlotBytes; }
  // Everything before this offset of the file is complete.
  void Commit(uint64_t position);
  void Close(SlotUse how);

 private:
  SharedHead* head_ = nullptr;
  SlotEntry* entries_ = nullptr;
  uint32_t place_ = 0;
  uint32_t number_ = 0;
};

}  // namespace wf::recorder
