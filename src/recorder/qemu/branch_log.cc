#include "recorder/qemu/branch_log.h"

#include <algorithm>

namespace wf::recorder {
namespace {

SiteKind KindOf(BlockEnd end) {
  switch (end) {
    case BlockEnd::kIndirectJump:
      return SiteKind::kIndirectJump;
    case BlockEnd::kIndirectCall:
      return SiteKind::kIndirectCall;
    default:
      return SiteKind::kConditional;
  }
}

uint64_t Distance(uint64_t to, uint64_t from) { return ZigZag(static_cast<int64_t>(to - from)); }

}  // namespace

void BranchLog::Begin(BranchRing* ring, uint8_t* bytes, const ScribeBell& bell) {
  out_.Attach(ring, bytes, bell);
  pending_ = nullptr;
  opening_ = false;
  running_ = index_ = missing_ = 0;
  Reset();
}

void BranchLog::Reset() {
  ++epoch_;
  sites_ = last_site_ = 0;
  last_address_ = 0;
  since_reset_ = 0;
}

// Operations without room are missing until the ring has room again. Then the stream says so, and that sites
// are defined anew, because their definitions may be among the missing ones. False: there is still no room.
bool BranchLog::Ready() {
  if (missing_ == 0) [[likely]]
    return true;
  const bool told = out_.Put([this](uint8_t* out) {
    out = PutVarint(PutVarint(out, kReset), running_);
    return PutVarint(PutVarint(out, kGap), missing_);
  });
  if (told) missing_ = 0;
  return told;
}

void BranchLog::Lose() {
  out_.CountLost();
  if (missing_++ == 0) Reset();
}

void BranchLog::Open(uint64_t index) {
  pending_ = nullptr;
  index_ = index;
  opening_ = running_ != index + 1;
}

void BranchLog::PutOpen(const Block& block) {
  opening_ = false;
  running_ = index_ + 1;
  const bool done = Ready() && out_.Put([&](uint8_t* out) {
    out = PutVarint(PutVarint(out, kOpen), index_);
    return PutVarint(out, Distance(block.start, last_address_));
  });
  if (!done) Lose();
}

void BranchLog::Close() {
  pending_ = nullptr;
  opening_ = false;
}

// The number of the block's site, which is defined now if it was not yet. False: there is no room.
bool BranchLog::FindSite(const Block& block, uint32_t& site) {
  if (block.id < numbers_.size() && numbers_[block.id].epoch == epoch_) [[likely]] {
    site = numbers_[block.id].site;
    return true;
  }
  if (numbers_.size() <= block.id)
    numbers_.resize(std::max<size_t>(block.id + 1, numbers_.size() * 2));
  const bool told = out_.Put([&](uint8_t* out) {
    const SiteKind kind = KindOf(block.end);
    out = PutVarint(PutVarint(out, kSite), static_cast<uint64_t>(kind));
    out = PutVarint(out, Distance(block.last, last_address_));
    if (kind != SiteKind::kConditional) return out;
    return PutVarint(PutVarint(out, Distance(block.target, block.last)),
                     block.following - block.last);
  });
  if (!told) return false;
  site = sites_++;
  numbers_[block.id] = {epoch_, site};
  last_address_ = block.last;
  return true;
}

void BranchLog::Resolve(const Block& next) {
  const Block& branch = *pending_;
  if (!Ready()) return Lose();
  uint64_t taken = 1;
  if (branch.end == BlockEnd::kConditional && next.start != branch.target) {
    taken = 0;
    if (next.start != branch.following) {
      // A signal came between, or the next block was left by a fault before its end.
      if (!out_.Put([](uint8_t* out) { return PutVarint(PutVarint(out, kGap), 1); })) Lose();
      return;
    }
  }
  if (++since_reset_ > kResetAfter) [[unlikely]] {
    if (!out_.Put([this](uint8_t* out) { return PutVarint(PutVarint(out, kReset), running_); }))
      return Lose();
    Reset();
  }
  uint32_t site = 0;
  if (!FindSite(branch, site)) return Lose();
  const int64_t step = static_cast<int64_t>(site) - static_cast<int64_t>(last_site_);
  const bool done = branch.end == BlockEnd::kConditional
                        ? out_.Put([&](uint8_t* out) {
                            return PutVarint(out, kFirstBranch + (ZigZag(step) << 1 | taken));
                          })
                        : out_.Put([&](uint8_t* out) {
                            out = PutVarint(PutVarint(out, kIndirect), ZigZag(step));
                            return PutVarint(out, Distance(next.start, branch.last));
                          });
  if (!done) return Lose();
  last_site_ = site;
}

}  // namespace wf::recorder
