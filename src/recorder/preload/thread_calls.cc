// Creating, joining and naming threads.
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "recorder/preload/raw_calls.h"
#include "recorder/preload/recording.h"
#include "recorder/preload/threads.h"

namespace wf::recorder {
namespace {

// The first of a new thread. Not a frame that must be unwound: the end is written by the key (threads.cc), whichever
// way the thread ends.
// A signal handler that ran before BeginThread would be taken for a thread of libc's. So the thread is created with all
// signals blocked and lets them in when it is known.
void LetSignalsIn(const Slot* slot) {
  if (slot->restore_signals == 0) return;
  const uint64_t mask = slot->signals;
  RawCall(SYS_rt_sigprocmask, SIG_SETMASK, Arg(&mask), 0, sizeof(mask));
}

void* RunThread(void* argument) {
  Slot* slot = static_cast<Slot*>(argument);
  const ThreadRoutine routine = slot->routine;
  void* const its_argument = slot->argument;
  BeginThread(slot);
  LetSignalsIn(slot);
  return routine(its_argument);
}

int RunC11Thread(void* argument) {
  Slot* slot = static_cast<Slot*>(argument);
  const C11Routine routine = slot->c11_routine;
  void* const its_argument = slot->argument;
  BeginThread(slot);
  LetSignalsIn(slot);
  return routine(its_argument);
}

// A creation, from entering the call on. `slot()` is null when the new thread cannot be recorded.
class Creation {
 public:
  Creation(Slot* creator, Op op, uint64_t site, void* argument) : call_(creator, op, site) {
    call_.Entered();
    thread_ = DrawThreadNumber();
    created_ = TakeSlot(thread_, creator->thread);
    if (created_ == nullptr) return;
    object_ = DrawObjectId();
    created_->object = object_;
    created_->argument = argument;
    NameThread(creator, thread_, object_);
    call_.OnId(object_);
    call_.Act(object_, Role::kReleaseAll, kCreated);
    if (g_hooks.thread_create != nullptr) g_hooks.thread_create(creator, created_);
  }
  Slot* slot() { return created_; }

  // Around the real call; attributes may give the thread a mask of its own, which then stays as it is.
  void BlockSignals(const pthread_attr_t* attributes) {
    // But for those that an instruction of the thread itself raises; data depth lives by these two.
    uint64_t all = ~(uint64_t{1} << (SIGSEGV - 1) | uint64_t{1} << (SIGSYS - 1));
    sigset_t own;
    created_->restore_signals =
        attributes == nullptr || ::pthread_attr_getsigmask_np(attributes, &own) != 0;
    RawCall(SYS_rt_sigprocmask, SIG_SETMASK, Arg(&all), Arg(&signals_), sizeof(all));
    created_->signals = signals_;
  }
  void UnblockSignals() {
    RawCall(SYS_rt_sigprocmask, SIG_SETMASK, Arg(&signals_), 0, sizeof(signals_));
  }

  void Succeeded(pthread_t handle) {
    if (created_ != nullptr) RegisterCreated(handle, created_, thread_, object_);
    call_.Finish();
  }
  void Failed() {
    call_.DropActions();
    call_.OnId(0);
    call_.Flag(kFailed);
    ReturnThreadNumber(thread_);
    if (created_ != nullptr) ReturnSlot(created_);
    call_.Finish();
  }

 private:
  Call call_;
  uint32_t thread_ = 0, object_ = 0;
  Slot* created_ = nullptr;
  uint64_t signals_ = 0;
};

struct JoinArguments {
  pthread_t handle;
  void** result;
  int* c11_result;
  clockid_t clock;
  const timespec* until;
};

void OnCancelledJoin(void* argument) {
  Call* call = static_cast<Call*>(argument);
  call->Flag(kFailed);
  call->Finish(Call::Waited::kYes);
}

int TryJoin(const JoinArguments* arguments) {
  void* value = nullptr;
  void** result = arguments->result;
  if (arguments->c11_result != nullptr) result = &value;
  const int rc = real.pthread_tryjoin_np(arguments->handle, result);
  if (rc == 0 && arguments->c11_result != nullptr)
    *arguments->c11_result = static_cast<int>(reinterpret_cast<intptr_t>(value));
  return rc;
}

int RecordJoin(Slot* slot, Op op, uint64_t site, int timed_out, int (*join)(void*),
               JoinArguments* arguments) {
  const ThreadRef thread = FindThread(arguments->handle);
  Call call(slot, op, site);
  if (thread.known) call.OnId(thread.object);
  call.Block();
  if (const int tried = TryJoin(arguments); tried == 0) {  // it had ended: nothing is waited for
    if (thread.known) call.Act(thread.object, Role::kAcquireAll, kJoined);
    call.Finish();
    return 0;
  }
  int rc;
  pthread_cleanup_push(OnCancelledJoin, &call);
  rc = join(arguments);
  pthread_cleanup_pop(0);
  if (rc != 0) {
    call.Flag(rc == timed_out ? kTimedOut : kFailed);
  } else if (thread.known) {
    call.Act(thread.object, Role::kAcquireAll, kJoined);
  }
  call.Finish(rc == 0 || rc == timed_out ? Call::Waited::kYes : Call::Waited::kNo);
  return rc;
}

}  // namespace
}  // namespace wf::recorder

using namespace wf::recorder;

WF_EXPORT int pthread_create(pthread_t* handle, const pthread_attr_t* attributes,
                             void* (*routine)(void*), void* argument) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_create(handle, attributes, routine, argument);
  Creation creation(slot, Op::kCreate, WF_SITE, argument);
  int rc;
  if (creation.slot() != nullptr) {
    creation.slot()->routine = routine;
    creation.BlockSignals(attributes);
    rc = real.pthread_create(handle, attributes, RunThread, creation.slot());
    creation.UnblockSignals();
  } else {
    rc = real.pthread_create(handle, attributes, routine, argument);
  }
  if (rc == 0) {
    creation.Succeeded(*handle);
  } else {
    creation.Failed();
  }
  return rc;
}

WF_EXPORT int thrd_create(thrd_t* handle, thrd_start_t routine, void* argument) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.thrd_create(handle, routine, argument);
  Creation creation(slot, Op::kThrdCreate, WF_SITE, argument);
  int rc;
  if (creation.slot() != nullptr) {
    creation.slot()->c11_routine = routine;
    creation.BlockSignals(nullptr);
    rc = real.thrd_create(handle, RunC11Thread, creation.slot());
    creation.UnblockSignals();
  } else {
    rc = real.thrd_create(handle, routine, argument);
  }
  if (rc == thrd_success) {
    creation.Succeeded(*handle);
  } else {
    creation.Failed();
  }
  return rc;
}

WF_EXPORT int pthread_join(pthread_t handle, void** result) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_join(handle, result);
  JoinArguments arguments{handle, result, nullptr, 0, nullptr};
  return RecordJoin(
      slot, Op::kJoin, WF_SITE, ETIMEDOUT,
      [](void* a) {
        auto* args = static_cast<JoinArguments*>(a);
        return real.pthread_join(args->handle, args->result);
      },
      &arguments);
}

WF_EXPORT int thrd_join(thrd_t handle, int* result) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.thrd_join(handle, result);
  JoinArguments arguments{handle, nullptr, result, 0, nullptr};
  return RecordJoin(
      slot, Op::kThrdJoin, WF_SITE, thrd_timedout,
      [](void* a) {
        auto* args = static_cast<JoinArguments*>(a);
        return real.thrd_join(args->handle, args->c11_result);
      },
      &arguments);
}

WF_EXPORT int pthread_timedjoin_np(pthread_t handle, void** result, const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_timedjoin_np(handle, result, until);
  JoinArguments arguments{handle, result, nullptr, 0, until};
  return RecordJoin(
      slot, Op::kTimedjoin, WF_SITE, ETIMEDOUT,
      [](void* a) {
        auto* args = static_cast<JoinArguments*>(a);
        return real.pthread_timedjoin_np(args->handle, args->result, args->until);
      },
      &arguments);
}

WF_EXPORT int pthread_clockjoin_np(pthread_t handle, void** result, clockid_t clock,
                                   const timespec* until) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_clockjoin_np(handle, result, clock, until);
  JoinArguments arguments{handle, result, nullptr, clock, until};
  return RecordJoin(
      slot, Op::kClockjoin, WF_SITE, ETIMEDOUT,
      [](void* a) {
        auto* args = static_cast<JoinArguments*>(a);
        return real.pthread_clockjoin_np(args->handle, args->result, args->clock, args->until);
      },
      &arguments);
}

WF_EXPORT int pthread_tryjoin_np(pthread_t handle, void** result) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real.pthread_tryjoin_np(handle, result);
  const ThreadRef thread = FindThread(handle);
  const int rc = real.pthread_tryjoin_np(handle, result);
  if (rc != 0) return rc;
  Call call(slot, Op::kTryjoin, WF_SITE);
  if (thread.known) {
    call.OnId(thread.object);
    call.Act(thread.object, Role::kAcquireAll, kJoined);
  }
  call.Finish();
  return rc;
}

WF_EXPORT int pthread_setname_np(pthread_t handle, const char* name) {
  Slot* slot = CurrentSlot();
  const int rc = real.pthread_setname_np(handle, name);
  if (rc != 0 || slot == nullptr) return rc;
  const ThreadRef thread = FindThread(handle);
  if (thread.known) NoteThreadName(slot, thread.thread, name);
  return rc;
}

WF_EXPORT int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long arguments[4];
  for (unsigned long& one : arguments) one = va_arg(list, unsigned long);
  va_end(list);
  Slot* slot = CurrentSlot();
  const int rc = real.prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
  if (rc == 0 && slot != nullptr && option == PR_SET_NAME)
    NoteThreadName(slot, slot->thread, reinterpret_cast<const char*>(arguments[0]));
  return rc;
}
