// Semaphores. A post draws its number before it posts, a wait after it got through, so a wait sees at least every post
// that let it through. sem_post may be called in signal handlers, and so may all of this. Waits are cancellation points
// even if they need not block.
#include <errno.h>
#include <semaphore.h>

#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace {

struct WaitArguments {
  sem_t* semaphore;
  clockid_t clock;
  const timespec* until;
};

void OnCancel(void* argument) {
  Call* call = static_cast<Call*>(argument);
  call->Flag(kFailed);
  call->Finish(Call::Waited::kYes);
}

int BlockingWait(Call& call, int (*wait)(const WaitArguments&), const WaitArguments& arguments) {
  int rc;
  pthread_cleanup_push(OnCancel, &call);
  rc = wait(arguments);
  pthread_cleanup_pop(0);
  return rc;
}

int RecordWait(Slot* slot, Op op, uint64_t site, int (*wait)(const WaitArguments&),
               const WaitArguments& arguments) {
  ::pthread_testcancel();
  const ObjectRef object = Find(slot, ObjectKind::kSemaphore, arguments.semaphore);
  const int before = errno;
  Call call(slot, op, site);
  call.On(object);
  if (arguments.until == nullptr) call.Touches(arguments.semaphore);
  if (real.sem_trywait(arguments.semaphore) == 0) {
    call.Act(object, Role::kAcquireAll);
    call.Finish();
    return 0;
  }
  errno = before;
  call.Block();
  const int rc = BlockingWait(call, wait, arguments);
  const int error = errno;
  if (rc == 0) {
    call.Act(object, Role::kAcquireAll);
  } else {
    call.Flag(error == ETIMEDOUT ? kTimedOut : kFailed);
  }
  call.Finish(rc == 0 || error == ETIMEDOUT || error == EINTR ? Call::Waited::kYes
                                                              : Call::Waited::kNo);
  errno = error;
  return rc;
}

bool Sound(const timespec* until) { return until->tv_nsec >= 0 && until->tv_nsec < 1'000'000'000; }

}  // namespace
}  // namespace wf::recorder

using namespace wf::recorder;

WF_EXPORT int sem_wait(sem_t* semaphore) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.sem_wait(semaphore);
  return RecordWait(slot, Op::kSemWait, WF_SITE,
                    [](const WaitArguments& a) { return real.sem_wait(a.semaphore); },
                    {semaphore, 0, nullptr});
}

WF_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.sem_timedwait(semaphore, until);
  if (!Sound(until))
    return RecordRefused(slot, Op::kSemTimedwait, WF_SITE, ObjectKind::kSemaphore, semaphore,
                         [&] { return real.sem_timedwait(semaphore, until); });
  return RecordWait(slot, Op::kSemTimedwait, WF_SITE,
                    [](const WaitArguments& a) { return real.sem_timedwait(a.semaphore, a.until); },
                    {semaphore, 0, until});
}

WF_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.sem_clockwait(semaphore, clock, until);
  if (!Sound(until) || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
    return RecordRefused(slot, Op::kSemClockwait, WF_SITE, ObjectKind::kSemaphore, semaphore,
                         [&] { return real.sem_clockwait(semaphore, clock, until); });
  return RecordWait(
      slot, Op::kSemClockwait, WF_SITE,
      [](const WaitArguments& a) { return real.sem_clockwait(a.semaphore, a.clock, a.until); },
      {semaphore, clock, until});
}

WF_EXPORT int sem_trywait(sem_t* semaphore) {
  Slot* slot = CurrentSlot();
  const int rc = real.sem_trywait(semaphore);
  if (slot == nullptr || rc != 0) return rc;
  Call call(slot, Op::kSemTrywait, WF_SITE);
  const ObjectRef object = Find(slot, ObjectKind::kSemaphore, semaphore);
  call.On(object);
  call.Act(object, Role::kAcquireAll);
  call.Finish();
  return rc;
}

WF_EXPORT int sem_post(sem_t* semaphore) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.sem_post(semaphore);
  const ObjectRef object = Find(slot, ObjectKind::kSemaphore, semaphore);
  Call call(slot, Op::kSemPost, WF_SITE);
  call.On(object);
  call.Touches(semaphore);
  call.Entered();
  call.Act(object, Role::kReleaseAll);
  const int rc = real.sem_post(semaphore);
  if (rc != 0) {
    call.DropActions();
    call.Flag(kFailed);
  }
  call.FinishAtOnce();
  return rc;
}

WF_EXPORT int sem_init(sem_t* semaphore, int shared, unsigned value) {
  EndObject(ObjectKind::kSemaphore, semaphore);
  return real.sem_init(semaphore, shared, value);
}

WF_EXPORT int sem_destroy(sem_t* semaphore) {
  EndObject(ObjectKind::kSemaphore, semaphore);
  return real.sem_destroy(semaphore);
}

WF_EXPORT int sem_close(sem_t* semaphore) {
  EndObject(ObjectKind::kSemaphore, semaphore);
  return real.sem_close(semaphore);
}
