#include "recorder/control/coverage_reader.h"

namespace wf::recorder {

void CoverageReader::Miss() {
  if (!lost_) ++gaps_;
  lost_ = true;
  frames_.clear();
}

size_t CoverageReader::Read(std::string_view operations) {
  VarintCursor in(operations);
  while (!in.done()) {
    const size_t begin = in.position();
    if (ReadOperation(in)) continue;
    if (in.ran_out()) return begin;
    Miss();
    break;
  }
  return operations.size();
}

bool CoverageReader::ReadOperation(VarintCursor& in) {
  uint64_t op = 0;
  if (!in.Read(op)) return false;
  if (op == kCoverageGap) return ReadGap(in);
  if (op >= kFirstBlock) return ReadBlock(in, op - kFirstBlock);
  uint64_t index = 0;
  if (!in.Read(index)) return false;
  Open(index);
  return true;
}

bool CoverageReader::ReadGap(VarintCursor& in) {
  uint64_t count = 0;
  uint64_t running = 0;
  if (!in.Read(count) || !in.Read(running)) return false;
  running_.reset();
  if (running != 0) running_ = running - 1;
  if (wanted()) gaps_ += count;
  lost_ = false;
  last_block_ = last_height_ = 0;
  frames_.clear();
  return true;
}

bool CoverageReader::ReadBlock(VarintCursor& in, uint64_t code) {
  uint64_t height = last_height_;
  if ((code & 1) != 0 && !in.ReadFrom(last_height_, height)) return false;
  last_block_ += static_cast<uint64_t>(UnZigZag(code >> 1));
  last_height_ = height;
  if (!lost_) Enter(last_block_, static_cast<int64_t>(last_height_));
  return true;
}

void CoverageReader::Open(uint64_t index) {
  running_ = index;
  lost_ = false;
  last_block_ = last_height_ = 0;
  if (!wanted() || begun_) return;
  begun_ = true;
  if (opened_at_ != 0) sink_({opened_at_, 0, false});
}

void CoverageReader::Give(const std::vector<Thunk>& thunks) {
  if (!wanted()) return;
  for (const Thunk& thunk : thunks) sink_(thunk);
}

// True if the block was entered from the one that the frame was in, without leaving the frame.
bool CoverageReader::Follow(Frame& frame, uint64_t block) {
  const auto& way = paths_.Between(frame.block, block);
  if (!way) return false;
  Give(*way);
  frame.block = block;
  return true;
}

// True if `block` is not a block but the return address of the caller, left by a function that ended with a
// jump.
bool CoverageReader::IsTail(uint64_t block, int64_t height) const {
  if (frames_.empty() || height <= frames_.back().height) return false;
  const auto callee = paths_.CalleeBefore(block);
  return !callee || trace_calls_.count(*callee) == 0;
}

void CoverageReader::Enter(uint64_t block, int64_t height) {
  if (wanted() && begun_ && opened_at_ == 0) {
    opened_at_ = block;
    sink_({block, 0, false});
  }
  if (IsTail(block, height)) {
    if (const auto& way = paths_.ToTail(frames_.back().block)) Give(*way);
    frames_.pop_back();
    return;
  }
  while (!frames_.empty() && frames_.back().height < height) frames_.pop_back();
  if (!frames_.empty()) {
    Frame& top = frames_.back();
    if (Follow(top, block)) {
      top.height = height;  // lower if it made room on the stack for itself
      return;
    }
    // At the same height it is another function, called by the same caller after the first had returned.
    if (top.height == height) {
      top.block = block;
      return;
    }
  }
  if (const auto callee = paths_.CalleeBefore(block)) trace_calls_.insert(*callee);
  frames_.push_back({block, height});
}

}  // namespace wf::recorder
