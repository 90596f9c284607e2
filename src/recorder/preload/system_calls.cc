// syscall(): futexes, which the C++ library waits with (futures, atomics, latches), and what it must not be used for.
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "recorder/preload/raw_calls.h"
#include "recorder/preload/recording.h"
#include "recorder/preload/start.h"

namespace wf::recorder {
namespace {

struct Arguments {
  long a[6];
};

long Pass(long number, const Arguments& args) {
  return real.syscall(number, args.a[0], args.a[1], args.a[2], args.a[3], args.a[4], args.a[5]);
}

enum class FutexUse { kOther, kWait, kWake };
FutexUse UseOf(long operation) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      return FutexUse::kWait;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
      return FutexUse::kWake;
    default:
      return FutexUse::kOther;
  }
}

long RecordFutex(Slot* slot, FutexUse use, uint64_t site, const Arguments& args) {
  const ObjectRef object = Find(slot, ObjectKind::kFutex, reinterpret_cast<void*>(args.a[0]));
  Call call(slot, use == FutexUse::kWait ? Op::kFutexWait : Op::kFutexWake, site);
  call.On(object);
  call.Entered();
  if (use == FutexUse::kWake) {
    call.Act(object, Role::kReleaseAll);
    const long rc = Pass(SYS_futex, args);
    const int error = errno;
    call.Finish();
    errno = error;
    return rc;
  }
  call.Block();
  const long rc = Pass(SYS_futex, args);
  const int error = errno;
  if (rc == 0) {
    call.Act(object, Role::kAcquireAll);
  } else {
    call.Flag(error == ETIMEDOUT ? kTimedOut : kFailed);
  }
  call.Finish(rc == 0 || error != EAGAIN ? Call::Waited::kYes : Call::Waited::kNo);
  errno = error;
  return rc;
}

// Threads that no wrapper sees would be missing from the graph, and whatever they order with them.
void RefuseThread(uint64_t flags) {
  if ((flags & CLONE_VM) == 0 || (flags & CLONE_VFORK) != 0 || !OwnsRecording()) return;
  constexpr char kWords[] =
      "wherefore: the program made a thread by a clone of its own, which cannot be recorded; it "
      "was "
      "ended before the thread began\n";
  RawCall(SYS_write, 2, Arg(kWords), sizeof(kWords) - 1);
  while (true) RawCall(SYS_exit_group, 125);
}

}  // namespace
}  // namespace wf::recorder

using namespace wf::recorder;

WF_EXPORT long syscall(long number, ...) {
  Arguments args;
  va_list list;
  va_start(list, number);
  for (long& one : args.a) one = va_arg(list, long);
  va_end(list);
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return Pass(number, args);
  switch (number) {
    case SYS_futex: {
      const FutexUse use = UseOf(args.a[1]);
      if (use != FutexUse::kOther) return RecordFutex(slot, use, WF_SITE, args);
      break;
    }
    case SYS_clone:
      RefuseThread(static_cast<uint64_t>(args.a[0]));
      break;
    case SYS_clone3:
      if (args.a[0] != 0) {
        uint64_t flags;
        std::memcpy(&flags, reinterpret_cast<const void*>(args.a[0]), sizeof(flags));
        RefuseThread(flags);
      }
      break;
    case SYS_exit_group:
      NoteExitSite(WF_SITE);
      NoteExit();
      break;
    default:
      break;
  }
  return Pass(number, args);
}

WF_EXPORT int clone(int (*routine)(void*), void* stack, int flags, void* argument, ...) {
  va_list list;
  va_start(list, argument);
  void* parent_tid = va_arg(list, void*);
  void* tls = va_arg(list, void*);
  void* child_tid = va_arg(list, void*);
  va_end(list);
  if (CurrentSlot() != nullptr) RefuseThread(static_cast<uint64_t>(flags));
  return real.clone(routine, stack, flags, argument, parent_tid, tls, child_tid);
}
