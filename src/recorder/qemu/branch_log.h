// The branches of one thread, as operations (recorder/format/branches.h). Used by that thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorder/format/block.h"
#include "recorder/format/branch_ring.h"
#include "recorder/format/branches.h"

namespace wf::recorder {

class BranchLog {
 public:
  // A stream begins.
  void Begin(BranchRing* ring, uint8_t* bytes, const ScribeBell& bell);

  // The next block that runs begins sub-computation `index`, or continues it.
  void Open(uint64_t index);
  // Nothing runs until the next Open. A branch whose outcome has not been seen led out of the
  // sub-computation, into the call that ended it, so it does not belong to it.
  void Close();

  // `block` reached its last instruction.
  void Run(const Block& block) {
    if (pending_ != nullptr) Resolve(block);
    if (opening_) [[unlikely]]
      PutOpen(block);
    pending_ = block.end == BlockEnd::kOther ? nullptr : &block;
  }

 private:
  // After this many branches the sites are defined again, so that a reader can begin there.
  static constexpr uint64_t kResetAfter = uint64_t{1} << 20;

  bool Ready();
  void Lose();
  void PutOpen(const Block& block);
  void Resolve(const Block& next);
  bool FindSite(const Block& block, uint32_t& site);
  void Reset();

  BranchRingWriter out_;
  const Block* pending_ = nullptr;
  bool opening_ = false;
  uint64_t running_ = 0;  // index of the sub-computation that was begun, plus 1
  uint64_t index_ = 0;    // of the one that is open or opening
  uint64_t missing_ = 0;  // operations dropped for lack of room since the last one written
  uint64_t since_reset_ = 0;
  // The number of a block's site, by block id; outdated ones have another epoch.
  struct Number {
    uint32_t epoch = 0;
    uint32_t site = 0;
  };
  std::vector<Number> numbers_;
  uint32_t epoch_ = 1;
  uint32_t sites_ = 0;
  uint32_t last_site_ = 0;
  uint64_t last_address_ = 0;
};

}  // namespace wf::recorder
