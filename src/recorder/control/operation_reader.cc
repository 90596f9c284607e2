#include "recorder/control/operation_reader.h"

namespace wf::recorder {
namespace {

// A stream begins anew after some million branches, which cannot have more sites than that.
constexpr size_t kMaxSites = size_t{1} << 24;

}  // namespace

void OperationReader::Miss() {
  // Which sub-computations the missing piece was of is unknown, so each may lack something.
  if (!lost_) ++gaps_;
  lost_ = true;
}

size_t OperationReader::Read(std::string_view operations) {
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

bool OperationReader::ReadOperation(VarintCursor& in) {
  uint64_t op = 0;
  if (!in.Read(op)) return false;
  switch (op) {
    case kSite:
      return ReadSite(in);
    case kOpen:
      return ReadOpen(in);
    case kGap: {
      uint64_t count = 0;
      if (!in.Read(count)) return false;
      if (wanted()) gaps_ += count;
      return true;
    }
    case kReset:
      return ReadReset(in);
    case kIndirect:
      return ReadIndirect(in);
    default:
      return lost_ || TakeConditional(op - kFirstBranch);
  }
}

bool OperationReader::ReadSite(VarintCursor& in) {
  uint64_t kind = 0;
  Site site{};
  if (!in.Read(kind) || kind > static_cast<uint64_t>(SiteKind::kIndirectCall)) return false;
  site.kind = static_cast<SiteKind>(kind);
  if (!in.ReadFrom(last_address_, site.address)) return false;
  if (site.kind == SiteKind::kConditional) {
    uint64_t length = 0;
    if (!in.ReadFrom(site.address, site.target) || !in.Read(length)) return false;
    site.following = site.address + length;
  }
  if (sites_.size() == kMaxSites) return false;
  last_address_ = site.address;
  sites_.push_back(site);
  return true;
}

bool OperationReader::ReadOpen(VarintCursor& in) {
  uint64_t index = 0;
  Thunk thunk;
  if (!in.Read(index) || !in.ReadFrom(last_address_, thunk.start)) return false;
  running_ = index;
  if (!wanted() || begun_ || lost_) return true;
  begun_ = true;
  sink_(thunk);
  return true;
}

bool OperationReader::ReadReset(VarintCursor& in) {
  uint64_t running = 0;
  if (!in.Read(running)) return false;
  running_.reset();
  if (running != 0) running_ = running - 1;
  lost_ = false;
  sites_.clear();
  last_site_ = last_address_ = 0;
  return true;
}

// The site that is so far from the one before; null if there is none.
const OperationReader::Site* OperationReader::Step(uint64_t distance) {
  const uint64_t number = last_site_ + static_cast<uint64_t>(UnZigZag(distance));
  if (number >= sites_.size()) return nullptr;
  last_site_ = number;
  return &sites_[number];
}

bool OperationReader::ReadIndirect(VarintCursor& in) {
  uint64_t distance = 0;
  uint64_t target = 0;
  if (!in.Read(distance) || !in.ReadFrom(0, target)) return false;
  if (lost_) return true;
  const Site* site = Step(distance);
  if (site == nullptr || site->kind == SiteKind::kConditional) return false;
  if (wanted()) sink_({site->address + target, site->address, true});
  return true;
}

bool OperationReader::TakeConditional(uint64_t code) {
  const Site* site = Step(code >> 1);
  if (site == nullptr || site->kind != SiteKind::kConditional) return false;
  const bool taken = (code & 1) != 0;
  if (wanted()) sink_({taken ? site->target : site->following, site->address, taken});
  return true;
}

}  // namespace wf::recorder
