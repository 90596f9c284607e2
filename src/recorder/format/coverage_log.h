// Writes a stream of BranchSource::kCoverage: the blocks that one thread enters. Plain C++17: see branches.h.
#pragma once

#include <cstdint>

#include "recorder/format/branch_ring.h"
#include "recorder/format/branches.h"

namespace wf::recorder {

// Used only by its thread and that thread's signal handlers: blocks that a handler enters while a block is
// being written are missing, and counted.
class CoverageLog {
 public:
  void Begin(BranchRing* ring, uint8_t* bytes, const ScribeBell& bell) {
    out_.Attach(ring, bytes, bell);
    open_ = false;
    running_ = 0;
    missing_ = 0;
  }

  // Sub-computation `index` begins, or continues if it ran before.
  void Open(uint64_t index) {
    if (running_ != index + 1) {
      running_ = index + 1;
      last_block_ = last_height_ = 0;
      // Without room now, the next block reports that something is missing, and for which sub-computation.
      if (!out_.Put(
              [index](uint8_t* out) { return PutVarint(PutVarint(out, kCoverageOpen), index); }))
        ++missing_;
    }
    open_ = true;
  }
  void Close() { open_ = false; }

  // `stack` is the stack pointer, or anything that differs from it by a constant.
  void Enter(uint64_t block, uint64_t stack) {
    if (!open_) return;
    if (__builtin_expect(busy_, 0)) {
      ++missing_;
      return;
    }
    busy_ = true;
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(missing_ == 0, 1) || TellMissing()) {
      const uint64_t height = stack >> 4;
      const uint64_t moved = height != last_height_ ? 1 : 0;
      const uint64_t step = ZigZag(static_cast<int64_t>(block - last_block_));
      if (__builtin_expect(out_.Put([&](uint8_t* out) {
            out = PutVarint(out, kFirstBlock + (step << 1 | moved));
            if (moved == 0) return out;
            return PutVarint(out, ZigZag(static_cast<int64_t>(height - last_height_)));
          }),
                           1)) {
        last_block_ = block;
        last_height_ = height;
      } else {
        Miss();
      }
    } else {
      Miss();
    }
    __asm__ volatile("" ::: "memory");
    busy_ = false;
  }

 private:
  void Miss() {
    ++missing_;
    out_.CountLost();
  }
  bool TellMissing() {
    const uint64_t count = missing_;
    if (!out_.Put([&](uint8_t* out) {
          return PutVarint(PutVarint(PutVarint(out, kCoverageGap), count), running_);
        }))
      return false;
    missing_ = 0;
    last_block_ = last_height_ = 0;
    return true;
  }

  BranchRingWriter out_;
  bool open_ = false;
  volatile bool busy_ = false;
  uint64_t running_ = 0;  // index plus 1
  uint64_t missing_ = 0;
  uint64_t last_block_ = 0;
  uint64_t last_height_ = 0;
};

}  // namespace wf::recorder
