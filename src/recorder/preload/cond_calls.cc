// Condition variables. A wait releases the mutex and acquires it again within one cut; the condition variable is
// acquired unless the wait timed out. Waits are cancellation points: a thread that is cancelled in one has the mutex
// again before its cleanup handlers run, so the cut is finished in a cleanup handler of ours.
#include "recorder/preload/cond_calls.h"

#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace {

struct CondWait {
  Call call;
  ObjectRef condition, mutex;
};

void OnCancel(void* argument) {
  auto* wait = static_cast<CondWait*>(argument);
  wait->call.Act(wait->mutex, Role::kAcquireAll);
  wait->call.Flag(kFailed);
  wait->call.Finish(Call::Waited::kYes);
}

}  // namespace

int RecordCondWait(Slot* slot, Op op, uint64_t site, const void* condition, const void* mutex,
                   const WaitOutcome& outcome, int (*wait)(void*), void* argument) {
  CondWait state{Call(slot, op, site), Find(slot, ObjectKind::kCond, condition),
                 Find(slot, ObjectKind::kMutex, mutex)};
  state.call.On(state.condition);
  state.call.Entered();
  state.call.Act(state.mutex, Role::kReleaseAll);
  state.call.Block();
  int rc;
  pthread_cleanup_push(OnCancel, &state);
  rc = wait(argument);
  pthread_cleanup_pop(0);
  const bool timed_out = rc == outcome.timed_out;
  if (rc == 0 || timed_out || rc == outcome.owner_dead) {
    if (!timed_out) state.call.Act(state.condition, Role::kAcquireAll);
    state.call.Act(state.mutex, Role::kAcquireAll);
    if (timed_out) state.call.Flag(kTimedOut);
  } else {
    // It never released the mutex (EINVAL, EPERM).
    state.call.DropActions();
    state.call.Flag(kFailed);
  }
  state.call.Finish(Call::Waited::kYes);
  return rc;
}

int RecordWake(Slot* slot, Op op, uint64_t site, const void* condition, int (*wake)(void*)) {
  const ObjectRef object = Find(slot, ObjectKind::kCond, condition);
  Call call(slot, op, site);
  call.On(object);
  call.Touches(condition);
  call.Entered();
  call.Act(object, Role::kReleaseAll);
  const int rc = wake(const_cast<void*>(condition));
  call.FinishAtOnce();
  return rc;
}

}  // namespace wf::recorder

using namespace wf::recorder;

namespace {

struct WaitArguments {
  pthread_cond_t* condition;
  pthread_mutex_t* mutex;
  clockid_t clock;
  const timespec* until;
};

}  // namespace

WF_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_cond_wait(condition, mutex);
  WaitArguments arguments{condition, mutex, 0, nullptr};
  return RecordCondWait(
      slot, Op::kCondWait, WF_SITE, condition, mutex, kPosixOutcome,
      [](void* a) {
        auto* args = static_cast<WaitArguments*>(a);
        return real.pthread_cond_wait(args->condition, args->mutex);
      },
      &arguments);
}

WF_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                     const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_cond_timedwait(condition, mutex, until);
  WaitArguments arguments{condition, mutex, 0, until};
  return RecordCondWait(
      slot, Op::kCondTimedwait, WF_SITE, condition, mutex, kPosixOutcome,
      [](void* a) {
        auto* args = static_cast<WaitArguments*>(a);
        return real.pthread_cond_timedwait(args->condition, args->mutex, args->until);
      },
      &arguments);
}

WF_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                     clockid_t clock, const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_cond_clockwait(condition, mutex, clock, until);
  WaitArguments arguments{condition, mutex, clock, until};
  return RecordCondWait(
      slot, Op::kCondClockwait, WF_SITE, condition, mutex, kPosixOutcome,
      [](void* a) {
        auto* args = static_cast<WaitArguments*>(a);
        return real.pthread_cond_clockwait(args->condition, args->mutex, args->clock, args->until);
      },
      &arguments);
}

WF_EXPORT int pthread_cond_signal(pthread_cond_t* condition) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_cond_signal(condition);
  return RecordWake(slot, Op::kCondSignal, WF_SITE, condition, [](void* c) {
    return real.pthread_cond_signal(static_cast<pthread_cond_t*>(c));
  });
}

WF_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_cond_broadcast(condition);
  return RecordWake(slot, Op::kCondBroadcast, WF_SITE, condition, [](void* c) {
    return real.pthread_cond_broadcast(static_cast<pthread_cond_t*>(c));
  });
}

WF_EXPORT int pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t* attributes) {
  EndObject(ObjectKind::kCond, condition);
  return real.pthread_cond_init(condition, attributes);
}

WF_EXPORT int pthread_cond_destroy(pthread_cond_t* condition) {
  EndObject(ObjectKind::kCond, condition);
  return real.pthread_cond_destroy(condition);
}
