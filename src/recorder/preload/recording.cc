#include "recorder/preload/recording.h"

#include <errno.h>
#include <linux/futex.h>

#include "recorder/preload/raw_calls.h"
#include "recorder/preload/ring.h"
#include "recorder/preload/scribe.h"

namespace wf::recorder {

Region* g_region = nullptr;
ObjectEntry* g_object_table = nullptr;
thread_local Slot* t_slot __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local uint32_t t_off __attribute__((tls_model("initial-exec"))) = 0;
DepthHooks g_hooks;

namespace {

// How long a thread waits for the scribe when its ring is full. Long enough for a machine that is badly
// overloaded (a ring is emptied in milliseconds), short enough that a stopped scribe does not stop the
// program.
constexpr uint64_t kPatienceNs = 2'000'000'000;

}  // namespace

bool WaitForRoom(Slot* slot, uint64_t size) {
  if (size > kMaxRecord) return false;
  Region* region = g_region;
  const uint64_t began = MonotonicNs();
  while (true) {
    const uint32_t seen = region->drained.load(std::memory_order_acquire);
    if (HasRoom(slot, size)) return true;
    if (region->broken.load(std::memory_order_relaxed) != 0) return false;
    const uint32_t scribe = region->scribe.load(std::memory_order_relaxed);
    const bool gone = scribe != 0 && RawCall(SYS_kill, scribe, 0) == -ESRCH;
    if (gone || MonotonicNs() - began > kPatienceNs) {
      // From now on no thread waits: records that do not fit are counted.
      region->broken.store(ETIMEDOUT, std::memory_order_relaxed);
      return false;
    }
    region->waiters.fetch_add(1, std::memory_order_acq_rel);
    KickScribe(region);
    timespec patience = {0, 20'000'000};
    RawCall(SYS_futex, Arg(&region->drained), FUTEX_WAIT, seen, Arg(&patience));
    region->waiters.fetch_sub(1, std::memory_order_acq_rel);
  }
}

bool MakeRoom(Slot* slot, uint64_t size) {
  CloseOpenRecord(slot, slot->ring);
  if (size > kMaxRecord || !HasRoom(slot, size)) return false;
  uint64_t head = slot->head.load(std::memory_order_relaxed);
  if (EndOf(head, size) != head + size) {
    SkipToStart(slot, head);
    head = slot->head.load(std::memory_order_relaxed);
  }
  // Half a ring at a time: coming here again is when the scribe is called.
  const uint64_t tail = slot->tail.load(std::memory_order_acquire);
  const uint64_t half = head + kRingSize / 2;
  slot->room_end = half < tail + kRingSize ? half : tail + kRingSize;
  if (slot->room_end < head + size) slot->room_end = head + size;
  if (head - tail >= kRingSize / 4) KickScribe(g_region);
  return true;
}

void AppendDeferred(Slot* slot, const void* record, uint32_t size) {
  Deferred& deferred = slot->deferred;
  const uint32_t at = deferred.size.fetch_add(size, std::memory_order_relaxed);
  if (at + size > sizeof(deferred.bytes)) {
    deferred.size.fetch_sub(size, std::memory_order_relaxed);
    g_region->lost_in_handlers.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::memcpy(deferred.bytes + at, record, size);
}

namespace {

// A deferred call was made in the middle of one that has blocked since and released something before: the releases came
// first and ended the same sub-computation (Call::Hold). Returns the size of the record, which may have grown.
uint32_t PutReleasesFirst(Slot* slot, uint8_t* record, uint32_t size) {
  Pending& pending = slot->pending;
  const uint16_t actions = pending.actions.load(std::memory_order_relaxed);
  Cut cut;
  std::memcpy(&cut, record, sizeof(cut));
  if (actions == 0 || cut.actions + actions > kMaxActions) return size;
  const uint32_t more = actions * sizeof(Action);
  std::memmove(record + sizeof(Cut) + more, record + sizeof(Cut), size - sizeof(Cut));
  std::memcpy(record + sizeof(Cut), pending.action, more);
  cut.actions = static_cast<uint16_t>(cut.actions + actions);
  cut.head.size = size + more;
  std::memcpy(record, &cut, sizeof(cut));
  pending.actions.store(0, std::memory_order_relaxed);
  pending.taken += actions;
  return size + more;
}

// Its times were taken before those of the record that it now stands behind.
void PutTimesBehind(Slot* slot, uint8_t* record) {
  Cut cut;
  std::memcpy(&cut, record, sizeof(cut));
  if (cut.end_ns < slot->last_start_ns) cut.end_ns = slot->last_start_ns;
  if (cut.start_ns < cut.end_ns) cut.start_ns = cut.end_ns;
  slot->last_start_ns = cut.start_ns;
  std::memcpy(record, &cut, sizeof(cut));
}

}  // namespace

namespace {

void WriteDeferred(Slot* slot, const uint8_t* from) {
  RecordHead head;
  std::memcpy(&head, from, sizeof(head));
  alignas(8) uint8_t record[sizeof(Cut) + kMaxActions * sizeof(Action) + 512];
  if (head.size > sizeof(record)) {
    g_region->lost_in_handlers.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::memcpy(record, from, head.size);
  Pending& pending = slot->pending;
  const bool within =
      pending.at_head.load(std::memory_order_relaxed) == slot->head.load(std::memory_order_relaxed);
  if (head.kind == RecordKind::kCut) {
    PutTimesBehind(slot, record);
    if (within) head.size = PutReleasesFirst(slot, record, head.size);
  }
  Append(slot, record, head.size, Held::kDeferred);
  if (within)
    pending.at_head.store(slot->head.load(std::memory_order_relaxed), std::memory_order_release);
}

}  // namespace

// A handler that comes meanwhile defers behind what is there, and does not flush.
void FlushDeferred(Slot* slot) {
  Deferred& deferred = slot->deferred;
  if (deferred.flushing.load(std::memory_order_relaxed) != 0) return;
  // Again, if one came between the last record and saying that it was the last.
  while (deferred.size.load(std::memory_order_relaxed) != 0) {
    deferred.flushing.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    uint32_t done = 0, size = deferred.size.load(std::memory_order_relaxed);
    while (done < size) {
      RecordHead head;
      std::memcpy(&head, deferred.bytes + done, sizeof(head));
      WriteDeferred(slot, deferred.bytes + done);
      done += head.size;
      // On failure `size` is what it has grown to.
      if (done == size) deferred.size.compare_exchange_strong(size, 0, std::memory_order_relaxed);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    deferred.flushing.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

uint32_t NameObject(Slot* slot, ObjectEntry* entry, ObjectKind kind, uintptr_t address) {
  const uint32_t mine = g_region->objects.fetch_add(1, std::memory_order_relaxed) + 1;
  uint32_t id = 0;
  if (!entry->id.compare_exchange_strong(id, mine, std::memory_order_acq_rel)) return id;
  Object record = {};
  record.head = {RecordKind::kObject, static_cast<uint16_t>(kind), sizeof(record)};
  record.id = mine;
  record.thread = kNoThread;
  record.address = address;
  record.time_ns = Now();
  Append(slot, &record, sizeof(record));
  return mine;
}

void EndObject(ObjectKind kind, const volatile void* address) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return;
  ObjectEntry* entry = FindEntry(reinterpret_cast<uintptr_t>(address), kind, IfMissing::kNull);
  if (entry == nullptr) return;
  const uint32_t id = entry->id.exchange(0, std::memory_order_acq_rel);
  entry->held_by_writer.store(0, std::memory_order_relaxed);
  if (id == 0) return;
  ObjectEnd record = {};
  record.head = {RecordKind::kObjectEnd, static_cast<uint16_t>(kind), sizeof(record)};
  record.id = id;
  record.time_ns = Now();
  Append(slot, &record, sizeof(record));
}

void NoteLostObject() { g_region->lost_objects.fetch_add(1, std::memory_order_relaxed); }

void Call::TakeFromOuter() {
  Pending& pending = slot_->pending;
  const uint16_t taken = pending.actions.load(std::memory_order_relaxed);
  const uint16_t own = record_.cut.actions;
  if (taken == 0 || taken + own > kMaxActions) return;
  std::memmove(record_.action + taken, record_.action, own * sizeof(Action));
  std::memcpy(record_.action, pending.action, taken * sizeof(Action));
  record_.cut.actions = static_cast<uint16_t>(own + taken);
  pending.actions.store(0, std::memory_order_relaxed);
  pending.taken += taken;
}

void Call::DropTaken() {
  const uint32_t taken = slot_->pending.taken;
  Cut& cut = record_.cut;
  if (taken > cut.actions) return;
  std::memmove(record_.action, record_.action + taken, (cut.actions - taken) * sizeof(Action));
  cut.actions = static_cast<uint16_t>(cut.actions - taken);
}

void Call::SaveOuter() {
  const Pending& pending = slot_->pending;
  outer_.actions = pending.actions.load(std::memory_order_relaxed);
  outer_.object = pending.object;
  outer_.taken = pending.taken;
  outer_.end_ns = pending.end_ns;
  outer_.site = pending.site;
  for (uint16_t i = 0; i < outer_.actions; ++i) outer_.action[i] = pending.action[i];
}

void Call::RestoreOuter() {
  Pending& pending = slot_->pending;
  pending.at_head.store(~uint64_t{0}, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  pending.op = saved_;
  pending.object = outer_.object;
  pending.taken = outer_.taken;
  pending.end_ns = outer_.end_ns;
  pending.site = outer_.site;
  for (uint16_t i = 0; i < outer_.actions; ++i) pending.action[i] = outer_.action[i];
  pending.actions.store(outer_.actions, std::memory_order_relaxed);
  pending.at_head.store(slot_->head.load(std::memory_order_relaxed), std::memory_order_release);
  saved_ = Op::kNone;
}

}  // namespace wf::recorder
