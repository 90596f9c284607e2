// C11's <threads.h>. libc does not go through the exported pthread functions for these, so each has its own wrapper.
// (Threads: thread_calls.cc, call_once: once_calls.cc.)
#include <threads.h>

#include "recorder/preload/cond_calls.h"
#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace {

constexpr WaitOutcome kC11Outcome = {thrd_timedout, thrd_success};

template <typename Blocking>
int RecordLock(Slot* slot, mtx_t* mutex, Op op, uint64_t site, const Blocking& blocking) {
  const ObjectRef object = Find(slot, ObjectKind::kMutex, mutex);
  Call call(slot, op, site);
  call.On(object);
  if (real.mtx_trylock(mutex) == thrd_success) {
    call.Act(object, Role::kAcquireAll);
    call.Finish();
    return thrd_success;
  }
  call.Block();
  const int rc = blocking();
  if (rc == thrd_success) {
    call.Act(object, Role::kAcquireAll);
  } else {
    call.Flag(rc == thrd_timedout ? kTimedOut : kFailed);
  }
  call.Finish(rc == thrd_success || rc == thrd_timedout ? Call::Waited::kYes : Call::Waited::kNo);
  return rc;
}

struct WaitArguments {
  cnd_t* condition;
  mtx_t* mutex;
  const timespec* until;
};

}  // namespace
}  // namespace wf::recorder

using namespace wf::recorder;

WF_EXPORT int mtx_lock(mtx_t* mutex) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.mtx_lock(mutex);
  return RecordLock(slot, mutex, Op::kMtxLock, WF_SITE, [&] { return real.mtx_lock(mutex); });
}

WF_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.mtx_timedlock(mutex, until);
  return RecordLock(slot, mutex, Op::kMtxTimedlock, WF_SITE,
                    [&] { return real.mtx_timedlock(mutex, until); });
}

WF_EXPORT int mtx_trylock(mtx_t* mutex) {
  Slot* slot = CurrentSlot();
  const int rc = real.mtx_trylock(mutex);
  if (slot == nullptr || rc != thrd_success) return rc;
  Call call(slot, Op::kMtxTrylock, WF_SITE);
  const ObjectRef object = Find(slot, ObjectKind::kMutex, mutex);
  call.On(object);
  call.Act(object, Role::kAcquireAll);
  call.Finish();
  return rc;
}

WF_EXPORT int mtx_unlock(mtx_t* mutex) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.mtx_unlock(mutex);
  const ObjectRef object = Find(slot, ObjectKind::kMutex, mutex);
  Call call(slot, Op::kMtxUnlock, WF_SITE);
  call.On(object);
  call.Entered();
  call.Act(object, Role::kReleaseAll);
  const int rc = real.mtx_unlock(mutex);
  if (rc != thrd_success) {
    call.DropActions();
    call.Flag(kFailed);
  }
  call.FinishAtOnce();
  return rc;
}

WF_EXPORT int mtx_init(mtx_t* mutex, int type) {
  EndObject(ObjectKind::kMutex, mutex);
  return real.mtx_init(mutex, type);
}

WF_EXPORT void mtx_destroy(mtx_t* mutex) {
  EndObject(ObjectKind::kMutex, mutex);
  real.mtx_destroy(mutex);
}

WF_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.cnd_wait(condition, mutex);
  WaitArguments arguments{condition, mutex, nullptr};
  return RecordCondWait(
      slot, Op::kCndWait, WF_SITE, condition, mutex, kC11Outcome,
      [](void* a) {
        auto* args = static_cast<WaitArguments*>(a);
        return real.cnd_wait(args->condition, args->mutex);
      },
      &arguments);
}

WF_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.cnd_timedwait(condition, mutex, until);
  WaitArguments arguments{condition, mutex, until};
  return RecordCondWait(
      slot, Op::kCndTimedwait, WF_SITE, condition, mutex, kC11Outcome,
      [](void* a) {
        auto* args = static_cast<WaitArguments*>(a);
        return real.cnd_timedwait(args->condition, args->mutex, args->until);
      },
      &arguments);
}

WF_EXPORT int cnd_signal(cnd_t* condition) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.cnd_signal(condition);
  return RecordWake(slot, Op::kCndSignal, WF_SITE, condition,
                    [](void* c) { return real.cnd_signal(static_cast<cnd_t*>(c)); });
}

WF_EXPORT int cnd_broadcast(cnd_t* condition) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.cnd_broadcast(condition);
  return RecordWake(slot, Op::kCndBroadcast, WF_SITE, condition,
                    [](void* c) { return real.cnd_broadcast(static_cast<cnd_t*>(c)); });
}

WF_EXPORT int cnd_init(cnd_t* condition) {
  EndObject(ObjectKind::kCond, condition);
  return real.cnd_init(condition);
}

WF_EXPORT void cnd_destroy(cnd_t* condition) {
  EndObject(ObjectKind::kCond, condition);
  real.cnd_destroy(condition);
}
