#include "recorder/preload/settled_calls.h"

#include <atomic>
#include <cstring>

namespace wf::recorder {

void SettledCalls::Begin(uint32_t region_slots) {
  used_ = region_slots;
  for (uint32_t i = 0; i < used_; ++i) seen_[i].settled = 0;
}

bool SettledCalls::LookAtAll(Region* region, Threads threads) {
  bool all = true;
  for (uint32_t i = 0; i < used_; ++i) {
    SeenCall& seen = seen_[i];
    if (seen.settled == 0) seen.settled = Look(region->slots[i], seen, threads) ? 1 : 0;
    all = all && seen.settled != 0;
  }
  return all;
}

bool SettledCalls::Look(const Slot& slot, SeenCall& seen, Threads threads) {
  seen.at_head = ~uint64_t{0};
  if (slot.state.load(std::memory_order_acquire) != kSlotUsed) return true;
  if (threads == Threads::kRun && (slot.holding.load(std::memory_order_acquire) != 0 ||
                                   slot.writing.load(std::memory_order_acquire) != 0))
    return false;
  const Pending& pending = slot.pending;
  const uint64_t at_head = pending.at_head.load(std::memory_order_acquire);
  if (at_head == ~uint64_t{0}) return true;
  seen.thread = slot.thread;
  const uint16_t actions = pending.actions.load(std::memory_order_acquire);
  seen.record.actions = actions <= kMaxActions ? actions : 0;
  seen.record.head = {RecordKind::kInside, static_cast<uint16_t>(pending.op),
                      static_cast<uint32_t>(sizeof(Inside) + seen.record.actions * sizeof(Action))};
  seen.record.thread = slot.thread;
  seen.record.object = pending.object;
  seen.record.end_ns = pending.end_ns;
  seen.record.site.address = pending.site;
  for (uint32_t i = 0; i < seen.record.actions; ++i) seen.action[i] = pending.action[i];
  std::atomic_thread_fence(std::memory_order_acquire);
  // If it returned meanwhile its record is in the ring. If it is another call, it is looked at again.
  const uint64_t now = pending.at_head.load(std::memory_order_relaxed);
  if (now != at_head && now != ~uint64_t{0}) return false;
  if (now == at_head) seen.at_head = at_head;
  return true;
}

bool SettledCalls::Write(Region* region, ChunkFile& file, const InSlot& in, uint64_t now_ns) {
  uint32_t size = 0;
  for (uint32_t i = 0; i < used_; ++i) {
    const Slot& slot = region->slots[i];
    const SeenCall& seen = seen_[i];
    // Not if it has returned since and the record was read.
    if (seen.settled == 0 || seen.at_head != slot.tail.load(std::memory_order_relaxed) ||
        seen.thread != slot.thread)
      continue;
    if (size + sizeof(Inside) + sizeof(seen.action) + sizeof(Settled) > sizeof(out_)) {
      if (file.position() + 3 * sizeof(out_) > in.end) return false;
      file.Write(ChunkKind::kCheckpoint, kNoThread, out_, size);
      size = 0;
    }
    if (in.checkpoint != nullptr) in.checkpoint->Observe(seen.record, seen.action, file);
    std::memcpy(out_ + size, &seen.record, sizeof(Inside));
    std::memcpy(out_ + size + sizeof(Inside), seen.action, seen.record.actions * sizeof(Action));
    size += seen.record.head.size;
  }
  const Settled settled = {{RecordKind::kSettled, 0, sizeof(Settled)}, now_ns};
  std::memcpy(out_ + size, &settled, sizeof(settled));
  file.Write(ChunkKind::kCheckpoint, kNoThread, out_,
             static_cast<uint32_t>(size + sizeof(settled)));
  return true;
}

}  // namespace wf::recorder
