// Read-write locks. A reader acquires what writers released, a writer what readers and writers released; so
// an unlock must know which it is: a writer marks the entry while it holds the lock alone.
#include <errno.h>

#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace {

enum class Mode { kRead, kWrite };

void NoteAcquired(Call& call, const ObjectRef& object, Mode mode) {
  if (mode == Mode::kWrite && object.entry != nullptr)
    object.entry->held_by_writer.store(1, std::memory_order_relaxed);
  call.Act(object, mode == Mode::kWrite ? Role::kAcquireAll : Role::kAcquireFromWriters);
}

template <typename Blocking>
int RecordLock(Slot* slot, pthread_rwlock_t* lock, Mode mode, Op op, uint64_t site,
               const Blocking& blocking) {
  const ObjectRef object = Find(slot, ObjectKind::kRwlock, lock);
  const bool timed = op != Op::kRwlockRdlock && op != Op::kRwlockWrlock;
  Call call(slot, op, site);
  call.On(object);
  if (!timed) call.Touches(lock);
  if ((mode == Mode::kRead ? real.pthread_rwlock_tryrdlock : real.pthread_rwlock_trywrlock)(lock) ==
      0) {
    NoteAcquired(call, object, mode);
    call.Finish();
    return 0;
  }
  call.Block();
  const int rc = blocking();
  if (rc == 0) {
    NoteAcquired(call, object, mode);
  } else {
    call.Flag(rc == ETIMEDOUT ? kTimedOut : kFailed);
  }
  call.Finish(rc == 0 || rc == ETIMEDOUT ? Call::Waited::kYes : Call::Waited::kNo);
  return rc;
}

int RecordTrylock(Slot* slot, pthread_rwlock_t* lock, Mode mode, Op op, uint64_t site) {
  const int rc =
      (mode == Mode::kRead ? real.pthread_rwlock_tryrdlock : real.pthread_rwlock_trywrlock)(lock);
  if (rc != 0) return rc;
  Call call(slot, op, site);
  const ObjectRef object = Find(slot, ObjectKind::kRwlock, lock);
  call.On(object);
  NoteAcquired(call, object, mode);
  call.Finish();
  return 0;
}

// An unknown clock is refused before the lock is looked at; so is a time that is none, by the timed forms.
bool Sound(clockid_t clock, const timespec* until) {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && until->tv_nsec >= 0 &&
         until->tv_nsec < 1'000'000'000;
}

}  // namespace
}  // namespace wf::recorder

using namespace wf::recorder;

WF_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_rwlock_rdlock(lock);
  return RecordLock(slot, lock, Mode::kRead, Op::kRwlockRdlock, WF_SITE,
                    [&] { return real.pthread_rwlock_rdlock(lock); });
}

WF_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_rwlock_tryrdlock(lock);
  return RecordTrylock(slot, lock, Mode::kRead, Op::kRwlockTryrdlock, WF_SITE);
}

WF_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_rwlock_timedrdlock(lock, until);
  if (!Sound(CLOCK_REALTIME, until))
    return RecordRefused(slot, Op::kRwlockTimedrdlock, WF_SITE, ObjectKind::kRwlock, lock,
                         [&] { return real.pthread_rwlock_timedrdlock(lock, until); });
  return RecordLock(slot, lock, Mode::kRead, Op::kRwlockTimedrdlock, WF_SITE,
                    [&] { return real.pthread_rwlock_timedrdlock(lock, until); });
}

WF_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                         const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_rwlock_clockrdlock(lock, clock, until);
  if (!Sound(clock, until))
    return RecordRefused(slot, Op::kRwlockClockrdlock, WF_SITE, ObjectKind::kRwlock, lock,
                         [&] { return real.pthread_rwlock_clockrdlock(lock, clock, until); });
  return RecordLock(slot, lock, Mode::kRead, Op::kRwlockClockrdlock, WF_SITE,
                    [&] { return real.pthread_rwlock_clockrdlock(lock, clock, until); });
}

WF_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_rwlock_wrlock(lock);
  return RecordLock(slot, lock, Mode::kWrite, Op::kRwlockWrlock, WF_SITE,
                    [&] { return real.pthread_rwlock_wrlock(lock); });
}

WF_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_rwlock_trywrlock(lock);
  return RecordTrylock(slot, lock, Mode::kWrite, Op::kRwlockTrywrlock, WF_SITE);
}

WF_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_rwlock_timedwrlock(lock, until);
  if (!Sound(CLOCK_REALTIME, until))
    return RecordRefused(slot, Op::kRwlockTimedwrlock, WF_SITE, ObjectKind::kRwlock, lock,
                         [&] { return real.pthread_rwlock_timedwrlock(lock, until); });
  return RecordLock(slot, lock, Mode::kWrite, Op::kRwlockTimedwrlock, WF_SITE,
                    [&] { return real.pthread_rwlock_timedwrlock(lock, until); });
}

WF_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                         const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_rwlock_clockwrlock(lock, clock, until);
  if (!Sound(clock, until))
    return RecordRefused(slot, Op::kRwlockClockwrlock, WF_SITE, ObjectKind::kRwlock, lock,
                         [&] { return real.pthread_rwlock_clockwrlock(lock, clock, until); });
  return RecordLock(slot, lock, Mode::kWrite, Op::kRwlockClockwrlock, WF_SITE,
                    [&] { return real.pthread_rwlock_clockwrlock(lock, clock, until); });
}

WF_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_rwlock_unlock(lock);
  const ObjectRef object = Find(slot, ObjectKind::kRwlock, lock);
  Call call(slot, Op::kRwlockUnlock, WF_SITE);
  call.On(object);
  call.Touches(lock);
  call.Entered();
  const bool writer =
      object.entry != nullptr && object.entry->held_by_writer.load(std::memory_order_relaxed) != 0;
  if (writer) object.entry->held_by_writer.store(0, std::memory_order_relaxed);
  call.Act(object, writer ? Role::kReleaseAll : Role::kReleaseToWriters);
  const int rc = real.pthread_rwlock_unlock(lock);
  if (rc != 0) {
    call.DropActions();
    call.Flag(kFailed);
  }
  call.FinishAtOnce();
  return rc;
}

WF_EXPORT int pthread_rwlock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes) {
  EndObject(ObjectKind::kRwlock, lock);
  return real.pthread_rwlock_init(lock, attributes);
}

WF_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) {
  EndObject(ObjectKind::kRwlock, lock);
  return real.pthread_rwlock_destroy(lock);
}
