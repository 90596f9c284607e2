// Mutexes and spin locks. Every lock is tried first: what succeeds at once did not wait, and no clock is read around it.
// A try gives what the plain call would, for every type: the owner of an error-checking one gets EBUSY from the try and
// then EDEADLK from the call, a recursive one is taken again. Robust ones are not tried: glibc 2.36 leaves one that is
// not recoverable locked after a try, and whoever locks it next would wait for ever instead of being told.
#include <errno.h>
#include <linux/futex.h>

#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace {

bool Locked(int rc) { return rc == 0 || rc == EOWNERDEAD; }

// After a lock that may have waited.
int FinishLock(Call& call, const ObjectRef& object, int rc, Call::Waited waited) {
  if (Locked(rc)) {
    call.Act(object, Role::kAcquireAll);
  } else {
    call.Flag(rc == ETIMEDOUT ? kTimedOut : kFailed);
  }
  call.Finish(Locked(rc) || rc == ETIMEDOUT ? waited : Call::Waited::kNo);
  return rc;
}

// A robust mutex is on a list with its thread's others, a protecting one has a table of priorities, a timed call reads
// the time it is given: these touch more than the lock.
bool Alone(pthread_mutex_t* mutex, Op op) {
  constexpr int kRobust = 16, kInheriting = 32, kProtecting = 64;
  return (op == Op::kMutexLock || op == Op::kMutexUnlock) &&
         (mutex->__data.__kind & (kRobust | kInheriting | kProtecting)) == 0;
}
bool Alone(pthread_spinlock_t*, Op) { return true; }

// The lock itself is looked at only when the sub-computation that ends here is over: it did not touch it.
template <typename Lock, typename Blocking>
int TryThenBlock(Call& call, const ObjectRef& object, Lock* lock, Op op, int (*trylock)(Lock*),
                 const Blocking& blocking) {
  if (Alone(lock, op)) call.Touches(lock);
  const int tried = trylock(lock);
  if (WF_LIKELY(Locked(tried))) {
    call.Act(object, Role::kAcquireAll);
    call.Finish();
    return tried;
  }
  call.Block();
  return FinishLock(call, object, blocking(), Call::Waited::kYes);
}

bool IsRobust(const pthread_mutex_t* mutex) { return (mutex->__data.__kind & 16) != 0; }

// Whether it will have to wait is read from its word: the holder, and whether that one is alive.
template <typename Blocking>
int LockRobust(Call& call, const ObjectRef& object, pthread_mutex_t* mutex,
               const Blocking& blocking) {
  const uint32_t word =
      static_cast<uint32_t>(__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED));
  const bool held = (word & FUTEX_TID_MASK) != 0 && (word & FUTEX_OWNER_DIED) == 0;
  call.Block();
  return FinishLock(call, object, blocking(), held ? Call::Waited::kYes : Call::Waited::kNo);
}

template <typename Blocking>
int RecordMutexLock(Slot* slot, pthread_mutex_t* mutex, Op op, uint64_t site,
                    const Blocking& blocking) {
  const ObjectRef object = Find(slot, ObjectKind::kMutex, mutex);
  Call call(slot, op, site);
  call.On(object);
  if (WF_UNLIKELY(IsRobust(mutex))) return LockRobust(call, object, mutex, blocking);
  return TryThenBlock(call, object, mutex, op, real.pthread_mutex_trylock, blocking);
}

template <typename Lock>
int RecordTrylock(Slot* slot, ObjectKind kind, Lock* lock, Op op, uint64_t site,
                  int (*trylock)(Lock*)) {
  const int rc = trylock(lock);
  if (!Locked(rc)) return rc;
  Call call(slot, op, site);
  const ObjectRef object = Find(slot, kind, lock);
  call.On(object);
  call.Act(object, Role::kAcquireAll);
  call.Finish();
  return rc;
}

template <typename Lock>
int RecordUnlock(Slot* slot, ObjectKind kind, Lock* lock, Op op, uint64_t site,
                 int (*unlock)(Lock*)) {
  const ObjectRef object = Find(slot, kind, lock);
  Call call(slot, op, site);
  call.On(object);
  if (Alone(lock, op)) call.Touches(lock);
  call.Entered();
  call.Act(object, Role::kReleaseAll);  // while it is still held
  const int rc = unlock(lock);
  if (WF_UNLIKELY(rc != 0)) {
    call.DropActions();
    call.Flag(kFailed);
  }
  call.FinishAtOnce();
  return rc;
}

}  // namespace
}  // namespace wf::recorder

using namespace wf::recorder;

WF_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  Slot* slot = CurrentSlot();
  if (WF_UNLIKELY(slot == nullptr)) return real.pthread_mutex_lock(mutex);
  return RecordMutexLock(slot, mutex, Op::kMutexLock, WF_SITE,
                         [&] { return real.pthread_mutex_lock(mutex); });
}

WF_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_mutex_trylock(mutex);
  return RecordTrylock(slot, ObjectKind::kMutex, mutex, Op::kMutexTrylock, WF_SITE,
                       real.pthread_mutex_trylock);
}

WF_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_mutex_timedlock(mutex, until);
  return RecordMutexLock(slot, mutex, Op::kMutexTimedlock, WF_SITE,
                         [&] { return real.pthread_mutex_timedlock(mutex, until); });
}

WF_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  Slot* slot = CurrentSlot();
  // An unknown clock is rejected before the lock is looked at.
  if (slot == nullptr) return real.pthread_mutex_clocklock(mutex, clock, until);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
    return RecordRefused(slot, Op::kMutexClocklock, WF_SITE, ObjectKind::kMutex, mutex,
                         [&] { return real.pthread_mutex_clocklock(mutex, clock, until); });
  return RecordMutexLock(slot, mutex, Op::kMutexClocklock, WF_SITE,
                         [&] { return real.pthread_mutex_clocklock(mutex, clock, until); });
}

WF_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  Slot* slot = CurrentSlot();
  if (WF_UNLIKELY(slot == nullptr)) return real.pthread_mutex_unlock(mutex);
  return RecordUnlock(slot, ObjectKind::kMutex, mutex, Op::kMutexUnlock, WF_SITE,
                      real.pthread_mutex_unlock);
}

WF_EXPORT int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  EndObject(ObjectKind::kMutex, mutex);
  return real.pthread_mutex_init(mutex, attributes);
}

WF_EXPORT int pthread_mutex_destroy(pthread_mutex_t* mutex) {
  EnsureStarted();
  const int rc = real.pthread_mutex_destroy(mutex);
  if (rc == 0) EndObject(ObjectKind::kMutex, mutex);
  return rc;
}

WF_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_spin_lock(lock);
  const ObjectRef object = Find(slot, ObjectKind::kSpin, lock);
  Call call(slot, Op::kSpinLock, WF_SITE);
  call.On(object);
  return TryThenBlock(call, object, lock, Op::kSpinLock, real.pthread_spin_trylock,
                      [&] { return real.pthread_spin_lock(lock); });
}

WF_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_spin_trylock(lock);
  return RecordTrylock(slot, ObjectKind::kSpin, lock, Op::kSpinTrylock, WF_SITE,
                       real.pthread_spin_trylock);
}

WF_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_spin_unlock(lock);
  return RecordUnlock(slot, ObjectKind::kSpin, lock, Op::kSpinUnlock, WF_SITE,
                      real.pthread_spin_unlock);
}

WF_EXPORT int pthread_spin_init(pthread_spinlock_t* lock, int shared) {
  EndObject(ObjectKind::kSpin, lock);
  return real.pthread_spin_init(lock, shared);
}

WF_EXPORT int pthread_spin_destroy(pthread_spinlock_t* lock) {
  EnsureStarted();
  const int rc = real.pthread_spin_destroy(lock);
  if (rc == 0) EndObject(ObjectKind::kSpin, lock);
  return rc;
}
