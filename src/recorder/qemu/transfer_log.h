// What the system calls of one thread moved in and out of the program, as records
// (recorder/format/records.h), and the pages that the kernel touched for it. Used by that thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorder/format/block.h"
#include "recorder/preload/data/transfer_form.h"
#include "recorder/preload/region.h"
#include "recorder/qemu/page_log.h"

namespace wf::recorder {

class TransferLog {
 public:
  // The thread makes a call; `from`: the code that made it, null if unknown.
  void Enter(int64_t number, const data::CallArguments& given, const Block* from);
  // It returned.
  void Return(int64_t result, PageLog& pages);
  // Moves out as many complete records as fit; returns how many bytes.
  size_t Take(uint8_t* out, size_t capacity);
  // The thread ends the process and will not read records any more: what libc still writes goes directly to
  // its ring.
  void WriteTo(Slot* slot, Region* region) {
    slot_ = slot;
    region_ = region;
  }
  bool Exiting() const { return slot_ != nullptr; }

 private:
  void Note(const data::Channel& channel, const data::Passage& passage);
  void NoteMapping(uint64_t address);
  void Put(data::TransferRecord& record);

  int64_t number_ = -1;  // of the call it is in, if it is recorded
  data::CallArguments given_ = {};
  std::vector<uint8_t> records_;
  size_t taken_ = 0;
  Slot* slot_ = nullptr;
  Region* region_ = nullptr;
};

}  // namespace wf::recorder
