// Syscall user dispatch: the kernel turns every system call made outside gate.S into SIGSYS. It is not inherited by
// exec, nor by the children that posix_spawn makes, so other programs never meet it.
//
// The handler runs on a private stack with all signals blocked. It either answers the call, or changes its arguments
// and sends it on through a stub, where it is the program that makes it.
#include "recorder/preload/data/trap.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>

#include "recorder/preload/data/flow.h"
#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/signals.h"
#include "recorder/preload/data/state.h"
#include "recorder/preload/data/text.h"
#include "recorder/preload/data/threads.h"
#include "recorder/preload/data/tracker.h"
#include "recorder/preload/data/transfers.h"

namespace wf::recorder::data {
namespace {

constexpr int kSetSyscallUserDispatch = 59;
// Struct utsname, of 390 bytes, is the longest that calls fill.
constexpr uint64_t kMostOfAStructure = 512;

struct Call {
  explicit Call(ucontext_t* context) : registers(context->uc_mcontext.gregs) {}
  uint64_t operator[](int i) const {
    static constexpr int kOrder[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    return static_cast<uint64_t>(registers[kOrder[i]]);
  }
  int Int(int i) const { return static_cast<int>((*this)[i]); }
  void Return(long value) const { registers[REG_RAX] = value; }
  greg_t* registers;
};

void Pass(ucontext_t* context, void (*stub)()) {
  greg_t* registers = context->uc_mcontext.gregs;
  registers[REG_RSP] -= kRedZone + static_cast<greg_t>(sizeof(StubFrame));
  auto* frame = reinterpret_cast<StubFrame*>(registers[REG_RSP]);
  frame->return_to = static_cast<uint64_t>(registers[REG_RIP]);
  frame->number = static_cast<uint64_t>(registers[REG_RAX]);
  registers[REG_RIP] = reinterpret_cast<greg_t>(stub);
}

void Back(ucontext_t* context, const StubFrame& frame, long result) {
  greg_t* registers = context->uc_mcontext.gregs;
  registers[REG_RIP] = static_cast<greg_t>(frame.return_to);
  registers[REG_RSP] += kRedZone + static_cast<greg_t>(sizeof(StubFrame));
  registers[REG_RAX] = result;
}

// What the kernel may read or write for a call must be open before it: a call that fails with EFAULT when it copies its
// result out has done its work already (wait4 has collected the child, accept has taken the connection). Whatever looks
// like a pointer is opened, for a structure, or for as much as the call says.
void OpenArguments(ucontext_t* context) {
  Call call(context);
  for (int i = 0; i < 6; ++i) self->last_argument[i] = call[i];
  // Buffers of reading and writing calls are open already, and exactly.
  const bool transfer = IsTransfer(call.registers[REG_RAX]);
  for (int i = 0; i < 6; ++i)
    if (call[i] >= kPage && !(transfer && i == 1)) MakeAccessible(call[i], kMostOfAStructure);
  switch (call.registers[REG_RAX]) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return MakeAccessible(call[1], (call[2] & 0xffffffff) * 12);
    case SYS_poll:
    case SYS_ppoll:
      return MakeAccessible(call[0], call[1] * 8);
    case SYS_getdents64:
    case SYS_getdents:
    case SYS_readlink:
      return MakeAccessible(call[1], call[2] & 0xffffffff);
    case SYS_readlinkat:
      return MakeAccessible(call[2], call[3] & 0xffffffff);
    case SYS_getcwd:
    case SYS_getrandom:
      return MakeAccessible(call[0], call[1]);
    case SYS_getxattr:
    case SYS_lgetxattr:
    case SYS_fgetxattr:
      return MakeAccessible(call[2], call[3]);
    case SYS_listxattr:
    case SYS_llistxattr:
    case SYS_flistxattr:
      return MakeAccessible(call[1], call[2]);
    case SYS_mincore:
      return MakeAccessible(call[2], call[1] / kPage + 1);
    case SYS_semtimedop:
    case SYS_semop:
      return MakeAccessible(call[1], call[2] * 6);
    case SYS_msgrcv:
    case SYS_msgsnd:
      return MakeAccessible(call[1], call[2] + 8);
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend:
      return MakeAccessible(call[1], call[2]);
    case SYS_io_submit:
    case SYS_io_getevents:
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
    case SYS_vmsplice:
      return MakeAllAccessible();
    default:
      return;
  }
}

// A stub's call returned and it was watched, or its memory was not there for the kernel.
void AfterStub(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  const StubFrame frame = *reinterpret_cast<const StubFrame*>(registers[REG_RSP]);
  const auto result = static_cast<long>(frame.result);
  Call call(context);
  if (result == -EFAULT) {
    // Once with what the registers point to, once with everything, then it is the program's own mistake.
    const int active = self->active_count + self->opened_count;
    bool synced = SyncMemory() > 0;
    for (int i = 0; i < 6; ++i) MakeAccessible(call[i], 1);
    if (self->active_count + self->opened_count == active && !synced) MakeAllAccessible();
    if (self->active_count + self->opened_count != active || synced) {
      registers[REG_RAX] = static_cast<greg_t>(frame.number);
      registers[REG_RIP] = reinterpret_cast<greg_t>(
          shared->tracker == TrackerKind::kFaults || IsTransfer(static_cast<long>(frame.number)) ||
                  frame.number == SYS_socketpair
              ? wf_stub_post_call
              : wf_stub_plain_call);
      return;
    }
  }
  if (frame.number == SYS_socketpair && result == 0) {
    const auto* ends = reinterpret_cast<const int*>(call[3]);
    OnSocketPair(ends[0], ends[1]);
  }
  const long told =
      AfterTransfer(static_cast<long>(frame.number), context, result, frame.return_to);
  EndKernelAccess();
  Back(context, frame, told);
}

void KillCall(ucontext_t* context) {
  Call call(context);
  const int signal = call.Int(1);
  if (call.Int(0) != shared->main_pid || signal == 0) return PassCall(context);
  siginfo_t info = {};
  if (call.registers[REG_RAX] == SYS_rt_sigqueueinfo) {
    info = *reinterpret_cast<const siginfo_t*>(call[2]);
  } else {
    info.si_signo = signal;
    info.si_code = SI_USER;
    info.si_pid = shared->main_pid;
    info.si_uid = static_cast<uid_t>(Kernel(SYS_getuid));
  }
  const int receiver = ReceiverOf(signal, &info);
  if (receiver == 0) return call.Return(0);
  call.registers[REG_RDI] = receiver;
  PassCall(context);
}

void SigtimedwaitCall(ucontext_t* context) {
  Call call(context);
  if (shared->pending.load() != 0 && call[3] == 8) {
    siginfo_t info;
    const int signal = TakePending(*reinterpret_cast<const uint64_t*>(call[0]), &info);
    if (signal != 0) {
      if (call[1] != 0) CopyBytes(reinterpret_cast<void*>(call[1]), &info, sizeof info);
      return call.Return(signal);
    }
  }
  PassCall(context);
}

void TgkillCall(ucontext_t* context) {
  Call call(context);
  if (call.Int(0) == shared->main_pid && IsThread(call.Int(1)))
    call.registers[REG_RDI] = call.Int(1);
  PassCall(context);
}

// pthread_setname_np and its kin reach other threads through /proc/self/task.
void OpenCall(ucontext_t* context, int path_register) {
  const auto* path = reinterpret_cast<const char*>(context->uc_mcontext.gregs[path_register]);
  if (path != nullptr && StartsWith(path, "/proc/self/task/")) {
    int tid = 0;
    const char* p = path + 16;
    for (; *p >= '0' && *p <= '9'; ++p) tid = tid * 10 + (*p - '0');
    if (tid > 0 && IsThread(tid) && Length(p) < 64) {
      char* to = AppendText(self->path_scratch, "/proc/");
      to = AppendNumber(to, static_cast<uint64_t>(tid));
      to = AppendText(to, "/task/");
      to = AppendNumber(to, static_cast<uint64_t>(tid));
      AppendText(to, p);
      context->uc_mcontext.gregs[path_register] = Word(self->path_scratch);
      const bool writes =
          (context->uc_mcontext.gregs[path_register == REG_RDI ? REG_RSI : REG_RDX] & O_ACCMODE) !=
          O_RDONLY;
      if (writes && StartsWith(p, "/comm") && tid != self->pid) {
        const long fd = Kernel(SYS_open, Word(self->path_scratch), O_RDONLY | O_CLOEXEC);
        self->name_fd = fd >= 0 ? static_cast<int>(fd) + 1 : 0;
        self->name_tid = tid;
        context->uc_mcontext.gregs[REG_RAX] = fd;
        return;
      }
    }
  }
  PassCall(context);
}

void LimitCall(ucontext_t* context) {
  Call call(context);
  if (call[0] != 0 && call.Int(0) != shared->main_pid) return PassCall(context);
  if (call.Int(1) != RLIMIT_NOFILE) {
    if (call.Int(0) == shared->main_pid) call.registers[REG_RDI] = 0;
    return PassCall(context);
  }
  rlimit64 limit = {};
  Kernel(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, Word(&limit));
  limit.rlim_cur = shared->descriptor_limit;
  const auto* wanted = reinterpret_cast<const rlimit64*>(call[2]);
  auto* old = reinterpret_cast<rlimit64*>(call[3]);
  if (wanted != nullptr) {
    const uint64_t soft = wanted->rlim_cur;
    if (soft > wanted->rlim_max) return call.Return(-EINVAL);
    shared->descriptor_limit = soft < static_cast<uint64_t>(shared->first_own_fd)
                                   ? soft
                                   : static_cast<uint64_t>(shared->first_own_fd);
  }
  if (old != nullptr) *old = limit;
  call.Return(0);
}

void ExecCall(ucontext_t* context) {
  // exec ends all threads. The kernel cannot do it for us; a failed exec must not.
  if (shared->live.load() > 1) {
    Call call(context);
    const bool at = context->uc_mcontext.gregs[REG_RAX] == SYS_execveat;
    const long there = Kernel(SYS_faccessat, at ? call.Int(0) : AT_FDCWD,
                              static_cast<long>(call[at ? 1 : 0]), 1 /* X_OK */);
    if (there == 0) {
      if (self->is_main == 0) GiveUp("exec from a thread other than the first cannot be followed");
      KillOthers();
    }
  }
  MakeAllAccessible();
  PassCall(context);
}

void FutexCall(ucontext_t* context) {
  // Private futexes are private to a process; ours are one program.
  context->uc_mcontext.gregs[REG_RSI] &= ~static_cast<greg_t>(FUTEX_PRIVATE_FLAG);
  PassCall(context);
}

void Handle(ucontext_t* context) {
  Call call(context);
  const long number = call.registers[REG_RAX];
  switch (number) {
    case SYS_futex:
      return FutexCall(context);
    case SYS_mmap: {
      if (DeniesMapping(call.Int(2), call.Int(3), call.Int(4), call[5], call[1]))
        return call.Return(-EACCES);
      const long result = MapCall(call[0], call[1], call.Int(2), call.Int(3), call.Int(4), call[5]);
      if (result > 0 || result < -4095)
        OnMapped(static_cast<uint64_t>(result), call[1], call.Int(2), call.Int(3), call.Int(4),
                 call[5], static_cast<uint64_t>(call.registers[REG_RIP]));
      return call.Return(result);
    }
    case SYS_munmap:
      LabelRunning(LabelsOfPages(call[0], call[1]));  // what it touched there is about to go
      return call.Return(UnmapCall(call[0], call[1]));
    case SYS_mprotect:
      return call.Return(ProtectCall(call[0], call[1], call.Int(2)));
    case SYS_pkey_mprotect:
      return call.Return(-ENOSYS);
    case SYS_mremap:
      return call.Return(RemapCall(call[0], call[1], call[2], call.Int(3), call[4]));
    case SYS_brk:
      return call.Return(BreakCall(call[0]));
    case SYS_madvise:
      return call.Return(AdviseCall(call[0], call[1], call.Int(2)));
    case SYS_mlockall:
    case SYS_mlock:
    case SYS_mlock2:
    case SYS_munlock:
    case SYS_munlockall:
      return call.Return(0);
    case SYS_shmat:
      return call.Return(-ENOSYS);

    case SYS_getpid:
      return call.Return(shared->main_pid);
    case SYS_getppid:
      return call.Return(self->is_main != 0 ? Kernel(SYS_getppid) : shared->parent_pid);
    case SYS_kill:
      return KillCall(context);
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
      return TgkillCall(context);
    case SYS_rt_sigqueueinfo:
      return KillCall(context);

    case SYS_rt_sigaction:
      return call.Return(SigactionCall(call.Int(0), reinterpret_cast<const void*>(call[1]),
                                       reinterpret_cast<void*>(call[2]), call[3]));
    case SYS_rt_sigtimedwait:
      return SigtimedwaitCall(context);
    case SYS_rt_sigprocmask:
      return SigprocmaskCall(context);
    case SYS_rt_sigreturn:
      return ReturnFromHandler(context);
    case SYS_sigaltstack:
      return call.Return(SigaltstackCall(reinterpret_cast<const void*>(call[0]),
                                         reinterpret_cast<void*>(call[1])));
    case SYS_rt_sigsuspend:
      call.registers[REG_RDI] = static_cast<greg_t>(PassableMask(call[0]));
      return PassCall(context);
    case SYS_ppoll:
      call.registers[REG_R10] = static_cast<greg_t>(PassableMask(call[3]));
      return PassCall(context);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      call.registers[REG_R8] = static_cast<greg_t>(PassableMask(call[4]));
      return PassCall(context);
    case SYS_pselect6:
      if (call[5] != 0) {
        const auto* given = reinterpret_cast<const uint64_t*>(call[5]);
        self->select_scratch[0] = PassableMask(given[0]);
        self->select_scratch[1] = given[1];
        call.registers[REG_R9] = Word(self->select_scratch);
      }
      return PassCall(context);

    case SYS_clone3:
      return Clone3Call(context);
    case SYS_clone:
      if ((call[0] & CLONE_VFORK) != 0) return SpawnCall(context);
      if ((call[0] & CLONE_THREAD) != 0)
        return CloneCall(context, call[0], call[1], call[2], call[3], call[4]);
      if ((call[0] & CLONE_VM) != 0 || call[1] != 0) return call.Return(-ENOSYS);
      return ForkCall(context, call[0], call[2], call[3]);
    case SYS_fork:
      return ForkCall(context, SIGCHLD, 0, 0);
    case SYS_vfork:
      return SpawnCall(context);
    case SYS_execve:
    case SYS_execveat:
      return ExecCall(context);
    case SYS_exit:
      EndThread();
    case SYS_exit_group:
      EndProcess(call.Int(0));
    case SYS_set_tid_address:
      self->clear_tid = call[0];
      return call.Return(self->pid);
    case SYS_rseq:
      return call.Return(-ENOSYS);  // the kernel would write to memory that is not open
    case 425:
      return call.Return(-ENOSYS);  // io_uring_setup: other kernel threads would touch the memory
    case 449:
      return call.Return(-ENOSYS);  // futex_waitv
    case SYS_unshare:
      return call.Return(-EPERM);

    case SYS_open:
      return OpenCall(context, REG_RDI);
    case SYS_openat:
      return OpenCall(context, REG_RSI);
    case SYS_prlimit64:
      return LimitCall(context);
    case SYS_write:
      if (self->name_fd != 0 && call.Int(0) == self->name_fd - 1)
        return call.Return(
            NameThread(self->name_tid, reinterpret_cast<const char*>(call[1]), call[2]));
      break;
    case SYS_close:
      if (self->name_fd != 0 && call.Int(0) == self->name_fd - 1) self->name_fd = 0;
      if (call.Int(0) >= shared->first_own_fd) return call.Return(-EBADF);
      return PassCall(context);
    case SYS_close_range:
      if (call[0] < static_cast<uint64_t>(shared->first_own_fd) &&
          (call[1] & 0xffffffff) >= static_cast<uint64_t>(shared->first_own_fd))
        call.registers[REG_RSI] = shared->first_own_fd - 1;
      return PassCall(context);
    case kCallAfterStub:
      return call.Return(-ENOSYS);
    default:
      break;
  }
  if (number == SYS_socketpair) return PassCallAndReturn(context);
  if (IsTransfer(number)) return BeforeTransfer(number, context);
  PassCall(context);
}

}  // namespace

void PassCall(ucontext_t* context) {
  OpenArguments(context);
  Pass(context, shared->tracker == TrackerKind::kFaults ? &wf_stub_post : &wf_stub_plain);
}
void PassCallOnce(ucontext_t* context) { Pass(context, &wf_stub_plain); }
void PassCallAndReturn(ucontext_t* context) {
  OpenArguments(context);
  Pass(context, &wf_stub_post);
}

void OnSigsys(int signal, siginfo_t* info, void* ucontext) {
  auto* context = static_cast<ucontext_t*>(ucontext);
  greg_t* registers = context->uc_mcontext.gregs;
  if (info->si_code != 2 /* SYS_USER_DISPATCH */) return DeliverFault(signal, info, context);
  if (registers[REG_RIP] == reinterpret_cast<greg_t>(wf_stub_trap_after)) return AfterStub(context);
  if (registers[REG_RAX] == kCallOnPrivateStack) {
    registers[REG_RAX] = reinterpret_cast<long (*)(void*)>(registers[REG_RDI])(
        reinterpret_cast<void*>(registers[REG_RSI]));
    return;
  }
  Handle(context);
}

const char* StartTrap() {
  const auto length = static_cast<long>(__start_wf_trap - __ehdr_start);
  const bool in_order =
      length > 0 && Word(reinterpret_cast<const char*>(&wf_gate_call)) < Word(__start_wf_trap);
  if (!in_order) return "this library was linked in an order that data depth cannot use";
  if (Kernel(SYS_prctl, kSetSyscallUserDispatch, 1, Word(__ehdr_start), length, 0) < 0)
    return "this kernel cannot dispatch system calls to the program (Linux 5.11 can)";
  return nullptr;
}

}  // namespace wf::recorder::data
