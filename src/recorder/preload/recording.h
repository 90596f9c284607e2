// The recording path: what a wrapper does to record one call. No lock, no system call, no allocation; it may
// run in a signal handler and before any constructor. errno stays unchanged.
//
// A wrapper of a listed call reads like this:
//
//   Slot* slot = CurrentSlot();
//   if (slot == nullptr) return real.f(x);          // not recording
//   Call call(slot, Op::kF, site);                  // the sub-computation ends here
//   call.Release(object); int rc = real.f(x); call.Acquire(object);
//   call.Finish();                                  // the next one starts here
#pragma once

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "recorder/format/records.h"
#include "recorder/preload/depth_hooks.h"
#include "recorder/preload/object_table.h"
#include "recorder/preload/real_functions.h"
#include "recorder/preload/region.h"

#define WF_EXPORT extern "C" __attribute__((visibility("default"), used))
#define WF_LIKELY(x) __builtin_expect(!!(x), 1)
#define WF_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WF_SITE reinterpret_cast<uint64_t>(__builtin_return_address(0))

namespace wf::recorder {

extern Region* g_region;  // null: not recording
extern thread_local Slot* t_slot;
// This thread is not recorded: it has ended, or could not be recorded.
extern thread_local uint32_t t_off;

// Starts the recording if the environment asks for it. The library's constructor calls it, or the first
// interposed call. Afterwards `real` is filled in any case.
void EnsureStarted();
extern std::atomic<uint32_t> g_started;  // 2: done

// For a thread that no interposed call created: one of libc's own, or main.
Slot* AdoptThread();

// In a page that the kernel clears in forked children: a process that was created without libc must not write
// into its parent's rings. A depth that turns threads into processes points this at its own word, which is
// not cleared.
extern const volatile uint32_t* g_fork_guard;
Slot* SlotOfUnknownChild();

inline Slot* CurrentSlot() {
  if (WF_LIKELY(t_slot != nullptr)) {
    if (WF_LIKELY(*g_fork_guard != 0)) return t_slot;
    return SlotOfUnknownChild();
  }
  if (WF_UNLIKELY(g_started.load(std::memory_order_acquire) != 2)) EnsureStarted();
  if (g_region == nullptr || t_off != 0) return nullptr;
  return AdoptThread();
}

inline uint64_t MonotonicNs() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
inline uint64_t Now() { return MonotonicNs() - g_region->started_ns; }

// --- Records into the thread's ring

// Makes room in the ring if the scribe has freed some.
bool MakeRoom(Slot* slot, uint64_t size);
// Waits a bounded time for the scribe, with no record begun: signal handlers may write meanwhile.
bool WaitForRoom(Slot* slot, uint64_t size);
void AppendDeferred(Slot* slot, const void* record, uint32_t size);
void FlushDeferred(Slot* slot);

// `record` is complete and its size a multiple of 8, at most kMaxRecord.
constexpr uint32_t kMaxRecord = 64 * 1024;
enum class Held {
  kNo,
  kYes,       // by the caller: it goes before everything that was deferred meanwhile
  kDeferred,  // it was deferred, and is written now
};
// A signal handler may interrupt all of this. Its records go after the one that its thread is writing, and
// after earlier deferred ones, even while those are being written.
inline bool MustDefer(const Slot* slot, Held held) {
  if (slot->writing.load(std::memory_order_relaxed) != 0) return true;
  if (held == Held::kDeferred) return false;
  return slot->deferred.flushing.load(std::memory_order_relaxed) != 0 ||
         (held == Held::kNo && slot->holding.load(std::memory_order_relaxed) != 0);
}
inline void Append(Slot* slot, const void* record, uint32_t size, Held held = Held::kNo) {
  if (WF_UNLIKELY(held == Held::kNo && slot->deferred.size.load(std::memory_order_relaxed) != 0 &&
                  !MustDefer(slot, held)))
    FlushDeferred(slot);
  while (true) {
    if (WF_UNLIKELY(MustDefer(slot, held))) {
      AppendDeferred(slot, record, size);
      // A handler that interrupted its thread while it was writing, and that holds nothing any more.
      if (held == Held::kYes) slot->holding.store(0, std::memory_order_relaxed);
      return;
    }
    slot->writing.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    uint64_t head = slot->head.load(std::memory_order_relaxed);
    bool fits = (head & (kRingSize - 1)) + size <= kRingSize && head + size <= slot->room_end;
    if (WF_UNLIKELY(!fits)) {
      fits = MakeRoom(slot, size);
      head = slot->head.load(std::memory_order_relaxed);
    }
    if (WF_LIKELY(fits)) {
      std::memcpy(slot->ring + (head & (kRingSize - 1)), record, size);
      slot->head.store(head + size, std::memory_order_release);
      if (held == Held::kYes) slot->holding.store(0, std::memory_order_relaxed);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    slot->writing.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (WF_LIKELY(fits)) {
      if (WF_UNLIKELY(slot->deferred.size.load(std::memory_order_relaxed) != 0))
        FlushDeferred(slot);
      return;
    }
    if (!WaitForRoom(slot, size)) {
      if (held == Held::kYes) slot->holding.store(0, std::memory_order_relaxed);
      slot->lost.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
}

// --- Objects

// First use of an object, or of the next object at its address. 0 if there is no room for it.
uint32_t NameObject(Slot* slot, ObjectEntry* entry, ObjectKind kind, uintptr_t address);
// The object was initialised or destroyed.
void EndObject(ObjectKind kind, const volatile void* address);
void NoteLostObject();

// A synchronization object as one call uses it.
struct ObjectRef {
  ObjectEntry* entry = nullptr;
  uint32_t id = 0;
};
inline ObjectRef Find(Slot* slot, ObjectKind kind, const volatile void* address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  ObjectEntry* entry = FindEntry(at, kind);
  if (WF_UNLIKELY(entry == nullptr)) {
    NoteLostObject();
    return {};
  }
  uint32_t id = entry->id.load(std::memory_order_acquire);
  if (WF_UNLIKELY(id == 0)) id = NameObject(slot, entry, kind, at);
  return {entry, id};
}

// --- Modules

// The call came from code that is not known yet: looks for new modules. Rare.
void LearnModules(Slot* slot, uint64_t site);

// --- One call

// Before a call draws its first number there is room for everything it writes, so that it never waits in
// between.
constexpr uint64_t kCallRoom = 1024;
inline bool NearEnd(const Slot* slot) {
  return slot->head.load(std::memory_order_relaxed) + kCallRoom > slot->room_end;
}

class Call {
 public:
  Call(Slot* slot, Op op, uint64_t site) : slot_(slot) {
    if (WF_UNLIKELY(site < slot_->module_begin || site >= slot_->module_end))
      LearnModules(slot_, site);
    if (WF_UNLIKELY(NearEnd(slot))) WaitForRoom(slot, kCallRoom);
    if (WF_UNLIKELY(g_hooks.sub_computation_end != nullptr)) {
      if (g_hooks.call_entered != nullptr) g_hooks.call_entered(slot);
      end_ns_ = Now();
      g_hooks.sub_computation_end(slot);
    }
    record_.cut.head.kind = RecordKind::kCut;
    record_.cut.head.detail = static_cast<uint16_t>(op);
    record_.cut.object = 0;
    record_.cut.actions = 0;
    record_.cut.flags = 0;
    record_.cut.wait_ns = 0;
    record_.cut.site.address = site;
  }

  // Of the program's memory, the call touches this object only (call_touches of depth_hooks.h).
  void Touches(const volatile void* object) {
    if (WF_UNLIKELY(g_hooks.call_touches != nullptr)) g_hooks.call_touches(object);
  }
  void On(const ObjectRef& object) { record_.cut.object = object.id; }
  void OnId(uint32_t id) { record_.cut.object = id; }
  void Flag(CutFlags flag) { record_.cut.flags |= flag; }

  void Act(uint32_t object, Role role, uint64_t sequence) {
    Hold();
    if (WF_UNLIKELY(record_.cut.actions == kMaxActions)) return;
    Action& action = record_.action[record_.cut.actions++];
    action.object = object;
    action.role = role;
    action.unused = 0;
    action.sequence = sequence;
    if (pending_) Publish(action);
  }
  void Act(const ObjectRef& object, Role role) {
    if (WF_UNLIKELY(object.entry == nullptr)) return;
    const bool first = !held_;
    Hold();
    uint64_t sequence = object.entry->Draw();
    // A handler that ran between the two has a lower number, and its record would come after this one: then
    // draw again. (While deferred records are being written, this record comes after them by itself.)
    while (WF_UNLIKELY(first && held_ &&
                       slot_->deferred.size.load(std::memory_order_relaxed) != 0 &&
                       slot_->deferred.flushing.load(std::memory_order_relaxed) == 0)) {
      Unhold();
      Hold();
      sequence = object.entry->Draw();
    }
    Act(object.id, role, sequence);
  }
  void DropActions() { record_.cut.actions = 0; }
  uint16_t actions() const { return record_.cut.actions; }

  // The sub-computation ends now. Calls that only later know whether they cut, or whose first action takes no
  // time, leave this to Finish.
  void Entered() {
    if (end_ns_ == 0) end_ns_ = Now();
  }
  // The call was so short that the clock is not read again.
  void FinishAtOnce() { FinishAt(end_ns_, Waited::kNo); }

  // The call may block from here on: records where it was entered, in case it never returns.
  void Block() {
    if (end_ns_ == 0) end_ns_ = Now();
    blocked_ns_ = end_ns_;
    Hold();
    Pending& pending = slot_->pending;
    saved_ = pending.at_head.load(std::memory_order_relaxed) ==
                     slot_->head.load(std::memory_order_relaxed)
                 ? pending.op
                 : Op::kNone;
    if (WF_UNLIKELY(saved_ != Op::kNone)) SaveOuter();
    WritePending();
    pending_ = true;
    if (held_) Unhold();
  }

  // The call returned. `waited`: the time since Block was spent waiting.
  enum class Waited { kNo, kYes };
  void Finish(Waited waited = Waited::kNo) { FinishAt(Now(), waited); }
  void FinishAt(uint64_t now, Waited waited) {
    Cut& cut = record_.cut;
    if (WF_UNLIKELY(pending_ && slot_->pending.taken != 0)) DropTaken();
    uint64_t end = end_ns_ == 0 ? now : end_ns_;
    // Calls made within this one (by a signal handler, or by the routine of pthread_once) have already cut.
    if (WF_UNLIKELY(end < slot_->last_start_ns)) end = slot_->last_start_ns;
    cut.end_ns = end;
    cut.start_ns = now < end ? end : now;
    cut.wait_ns = waited == Waited::kYes ? cut.start_ns - blocked_ns_ : 0;
    cut.head.size = static_cast<uint32_t>(sizeof(Cut) + cut.actions * sizeof(Action));
    slot_->last_start_ns = cut.start_ns;
    // If a call around this one is still in progress, the thread stays in that one.
    Pending& pending = slot_->pending;
    const bool within = !pending_ && pending.at_head.load(std::memory_order_relaxed) ==
                                         slot_->head.load(std::memory_order_relaxed);
    Append(slot_, &record_, cut.head.size, held_ ? Held::kYes : Held::kNo);
    held_ = false;
    ++slot_->index;
    if (WF_UNLIKELY(within))
      pending.at_head.store(slot_->head.load(std::memory_order_relaxed), std::memory_order_release);
    Return();
  }
  uint64_t end_ns() const { return end_ns_; }
  Slot* slot() const { return slot_; }

 private:
  // A number is about to be drawn: records of signal handlers from here on go after this call's record. If
  // this call itself is made by a handler, inside a call that released something before it blocked, those
  // releases come first, in this call's record, because they ended the same sub-computation.
  void Hold() {
    if (held_ || slot_->holding.load(std::memory_order_relaxed) != 0) return;
    // Records that other handlers left: this handler ran just before its thread would have written them.
    if (WF_UNLIKELY(slot_->deferred.size.load(std::memory_order_relaxed) != 0))
      FlushDeferred(slot_);
    held_ = true;
    slot_->holding.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const Pending& pending = slot_->pending;
    if (WF_UNLIKELY(!pending_ && pending.at_head.load(std::memory_order_relaxed) ==
                                     slot_->head.load(std::memory_order_relaxed)))
      TakeFromOuter();
  }
  void Unhold() {
    held_ = false;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    slot_->holding.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (WF_UNLIKELY(slot_->deferred.size.load(std::memory_order_relaxed) != 0))
      FlushDeferred(slot_);
  }
  void TakeFromOuter();
  void DropTaken();

  void Return() {
    if (WF_UNLIKELY(saved_ != Op::kNone))
      RestoreOuter();
    else if (pending_)
      slot_->pending.at_head.store(~uint64_t{0}, std::memory_order_relaxed);
    pending_ = false;
    if (WF_UNLIKELY(g_hooks.sub_computation_start != nullptr)) g_hooks.sub_computation_start(slot_);
  }
  void WritePending() {
    Pending& pending = slot_->pending;
    pending.at_head.store(~uint64_t{0}, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    pending.op = static_cast<Op>(record_.cut.head.detail);
    pending.object = record_.cut.object;
    pending.end_ns = end_ns_;
    pending.site = record_.cut.site.address;
    pending.taken = 0;
    const uint16_t actions = record_.cut.actions;
    for (uint16_t i = 0; i < actions; ++i) pending.action[i] = record_.action[i];
    pending.actions.store(actions, std::memory_order_relaxed);
    pending.at_head.store(slot_->head.load(std::memory_order_relaxed), std::memory_order_release);
  }
  void Publish(const Action& action) {
    Pending& pending = slot_->pending;
    const uint16_t n = pending.actions.load(std::memory_order_relaxed);
    pending.action[n] = action;
    pending.actions.store(n + 1, std::memory_order_release);
  }
  void SaveOuter();
  void RestoreOuter();

  Slot* slot_;
  uint64_t end_ns_ = 0, blocked_ns_ = 0;
  bool pending_ = false, held_ = false;
  Op saved_ = Op::kNone;
  struct {
    Cut cut;
    Action action[kMaxActions];
  } record_;
  // The call around this one.
  struct Outer {
    uint16_t actions;
    uint32_t object, taken;
    uint64_t end_ns, site;
    Action action[kMaxActions];
  } outer_;
};

// A listed call whose arguments libc rejects before it looks at the object: it cuts, and does nothing else.
template <typename Refused>
int RecordRefused(Slot* slot, Op op, uint64_t site, ObjectKind kind, const volatile void* object,
                  const Refused& refused) {
  Call call(slot, op, site);
  call.On(Find(slot, kind, object));
  call.Entered();
  const int rc = refused();
  const int error = errno;
  call.Flag(kFailed);
  call.FinishAtOnce();
  errno = error;
  return rc;
}

}  // namespace wf::recorder
