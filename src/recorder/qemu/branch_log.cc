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

// Operations that found no room are missing until the ring has some again; the stream then says so, and that sites are
// told anew, because theirs may have been among what is missing.
template <typename Encode>
void BranchLog::Put(Encode encode) {
  if (missing_ != 0) [[unlikely]] {
    const bool told = out_.Put([this](uint8_t* out) {
      out = PutVarint(PutVarint(out, kReset), running_);
      return PutVarint(PutVarint(out, kGap), missing_);
    });
    if (told) missing_ = 0;
  }
  if (missing_ == 0 && out_.Put(encode)) return;
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
  Put([&](uint8_t* out) {
    out = PutVarint(PutVarint(out, kOpen), index_);
    return PutVarint(out, Distance(block.start, last_address_));
  });
}

void BranchLog::Close() {
  pending_ = nullptr;
  opening_ = false;
}

uint32_t BranchLog::SiteOf(const Block& block) {
  if (block.id < numbers_.size() && numbers_[block.id].epoch == epoch_) [[likely]]
    return numbers_[block.id].site;
  if (since_reset_ > kResetAfter) {
    Reset();
    Put([this](uint8_t* out) { return PutVarint(PutVarint(out, kReset), running_); });
  }
  if (numbers_.size() <= block.id)
    numbers_.resize(std::max<size_t>(block.id + 1, numbers_.size() * 2));
  const uint32_t site = sites_;
  const uint64_t base = last_address_;
  Put([&](uint8_t* out) {
    const SiteKind kind = KindOf(block.end);
    out = PutVarint(PutVarint(out, kSite), static_cast<uint64_t>(kind));
    out = PutVarint(out, Distance(block.last, base));
    if (kind != SiteKind::kConditional) return out;
    return PutVarint(PutVarint(out, Distance(block.target, block.last)),
                     block.following - block.last);
  });
  if (missing_ != 0) return 0;
  numbers_[block.id] = {epoch_, site};
  last_address_ = block.last;
  ++sites_;
  return site;
}

void BranchLog::Resolve(const Block& next) {
  const Block& branch = *pending_;
  uint64_t taken = 1;
  if (branch.end == BlockEnd::kConditional && next.start != branch.target) {
    taken = 0;
    if (next.start != branch.following) {
      // A signal came between, or the next block was left by a fault before its end.
      Put([](uint8_t* out) { return PutVarint(PutVarint(out, kGap), 1); });
      return;
    }
  }
  const uint32_t site = SiteOf(branch);
  if (missing_ != 0) [[unlikely]] {  // no room for the site, so none for what refers to it
    ++missing_;
    return;
  }
  const int64_t step = static_cast<int64_t>(site) - static_cast<int64_t>(last_site_);
  last_site_ = site;
  ++since_reset_;
  if (branch.end == BlockEnd::kConditional)
    return Put([&](uint8_t* out) {
      return PutVarint(out, kFirstBranch + (ZigZag(step) << 1 | taken));
    });
  Put([&](uint8_t* out) {
    out = PutVarint(PutVarint(out, kIndirect), ZigZag(step));
    return PutVarint(out, Distance(next.start, branch.last));
  });
}

}  // namespace wf::recorder
