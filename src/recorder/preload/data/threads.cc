// A thread is a process made by clone without CLONE_VM: all its memory is mapped shared (memory.cc), the table of
// descriptors, the working directory and the semaphore adjustments are shared by the kernel. What the kernel ties to a
// thread group is done here: the end of all, the word that join waits for, one process id.
//
// Every such process is a child of the first one, with no exit signal, so that the program's own wait calls do not see
// it; it is killed when the first one dies. The first process stays until the end, whatever its thread does.
#include "recorder/preload/data/threads.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/regions.h"
#include "recorder/preload/data/signals.h"
#include "recorder/preload/data/state.h"
#include "recorder/preload/data/text.h"
#include "recorder/preload/data/tracker.h"
#include "recorder/preload/data/trap.h"
#include "recorder/preload/recording.h"

namespace wf::recorder::data {

ThreadHooks hooks;

namespace {

constexpr long kFrame = kRedZone + static_cast<long>(sizeof(StubFrame));

int TakeSlot() {
  shared->thread_lock.Take();
  int slot = 0;
  while (slot < shared->slots_high && shared->slots[slot].load() != 0) ++slot;
  if (slot == kMaxThreads) GiveUp("too many threads at once");
  if (slot == shared->slots_high) ++shared->slots_high;
  shared->slots[slot].store(-self->pid);
  shared->thread_lock.Give();
  return slot;
}

bool LeaveTracker() {
  if (self->uffd < 0) return false;
  Held held(&shared->thread_lock);
  constexpr int kMost = sizeof shared->leftovers / sizeof shared->leftovers[0];
  if (shared->leftovers_count == kMost) return false;
  shared->leftovers[shared->leftovers_count++] = {self->pid, self->uffd, self->pagemap};
  return true;
}

void CloseTrackerOf(int pid) {
  Held held(&shared->thread_lock);
  for (int i = 0; i < shared->leftovers_count; ++i) {
    const Shared::Leftover left = shared->leftovers[i];
    if (left.pid != pid) continue;
    shared->leftovers[i] = shared->leftovers[--shared->leftovers_count];
    Kernel(SYS_close, left.uffd);
    Kernel(SYS_close, left.pagemap);
    return;
  }
}

void Reap() {
  int status = 0;
  for (long pid; (pid = Kernel(SYS_wait4, -1, Word(&status), __WCLONE | WNOHANG, 0)) > 0;)
    CloseTrackerOf(static_cast<int>(pid));
}

// The first process takes the program's signals even when its thread has ended.
[[noreturn]] void WaitForEnd() {
  for (;;) {
    uint64_t none = self->is_main != 0 ? 0 : ~(uint64_t{1} << (kControlSignal - 1));
    Kernel(SYS_rt_sigsuspend, Word(&none), 8);
  }
}

// Every process records what its last sub-computation touched, those in the kernel too, then none continues.
// A process that does not answer loses that.
void GatherLastPages() {
  if (hooks.last_pages != nullptr) hooks.last_pages();
  shared->gathered.store(0);
  TellOthers();
  int others = 0;
  for (int i = 0; i < shared->slots_high; ++i) others += shared->slots[i].load() != 0 ? 1 : 0;
  for (int round = 0; round < 2000 && shared->gathered.load() < others - 1; ++round) {
    int64_t pause[2] = {0, 100'000};
    Kernel(SYS_nanosleep, Word(pause), 0);
  }
}

[[noreturn]] void EndNow() {  // in the first process, its end decided
  GatherLastPages();
  KillOthers();
  if (shared->end_kind.load() == static_cast<uint32_t>(EndKind::kExit)) {
    for (;;) Kernel(SYS_exit_group, shared->end_value);
  }
  uint64_t action[4] = {0, 0, 0, 0};
  Kernel(SYS_rt_sigaction, shared->end_value, Word(action), 0, 8);
  Kernel(SYS_kill, self->pid, shared->end_value);
  uint64_t mask = ~(uint64_t{1} << (shared->end_value - 1));
  Kernel(SYS_rt_sigprocmask, SIG_SETMASK, Word(&mask), 0, 8);
  for (;;) Kernel(SYS_exit_group, 128 + shared->end_value);
}

[[noreturn]] void End(EndKind kind, int value) {
  uint32_t running = 0;
  shared->thread_lock.Take();
  if (shared->end_kind.load() == running) {
    shared->end_value = value;
    shared->end_kind.store(static_cast<uint32_t>(kind));
  }
  shared->thread_lock.Give();
  if (self->is_main != 0) EndNow();
  SendControl(shared->main_pid);
  WaitForEnd();  // answers the control signal
}

void BeginProcess() {  // of a new process: what is not inherited
  const char* wrong = StartTracker();
  if (wrong != nullptr) GiveUp(wrong);
  MapRegionsOfNewProcess();
  StartTrap();
}

}  // namespace

void SendControl(int pid) {
  siginfo_t info = {};
  info.si_signo = kControlSignal;
  info.si_code = SI_QUEUE;
  info.si_value.sival_ptr = shared;
  info.si_pid = self->pid;
  Kernel(SYS_rt_sigqueueinfo, pid, kControlSignal, Word(&info));
}

void TellOthers() {
  for (int i = 0; i < shared->slots_high; ++i) {
    const int tid = shared->slots[i].load();
    if (tid > 0 && tid != self->pid) SendControl(tid);
  }
}

bool IsThread(int tid) {
  for (int i = 0; i < shared->slots_high; ++i)
    if (shared->slots[i].load() == tid) return true;
  return false;
}

void KillOthers() {
  for (int i = 0; i < shared->slots_high; ++i) {
    int tid = 0;
    while ((tid = shared->slots[i].load()) < 0) Kernel(SYS_sched_yield);
    if (tid != 0 && tid != self->pid) Kernel(SYS_kill, tid, SIGKILL);
  }
  int status = 0;
  while (Kernel(SYS_wait4, -1, Word(&status), __WCLONE, 0) > 0) {
  }
}

void CloneCall(ucontext_t* context, uint64_t flags, uint64_t stack_top, uint64_t parent_tid,
               uint64_t child_tid, uint64_t tls) {
  greg_t* registers = context->uc_mcontext.gregs;
  if (hooks.refuse_thread != nullptr && hooks.refuse_thread()) {
    constexpr char kWhy[] =
        "wherefore: refused: libc makes threads for itself here (SIGEV_THREAD, aio), which data "
        "depth does not follow; "
        "leave --data out\n";
    Kernel(SYS_write, 2, Word(kWhy), sizeof kWhy - 1);
    EndProcess(125);
  }
  self->creating = 0;
  if (self->is_main != 0) Reap();
  const int slot = TakeSlot();
  shared->live.fetch_add(1);
  const uint64_t shares =
      CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_IO | CLONE_SETTLS | CLONE_PARENT_SETTID;
  const uint64_t kept =
      (flags & shares) | (self->is_main != 0 ? 0 : static_cast<uint64_t>(CLONE_PARENT));
  if ((flags & CLONE_PARENT_SETTID) != 0) MakeAccessible(parent_tid, 4);
  const long tid = Kernel(SYS_clone, static_cast<long>(kept), 0, static_cast<long>(parent_tid), 0,
                          static_cast<long>(tls));
  if (tid < 0) {
    shared->slots[slot].store(0);
    shared->live.fetch_sub(1);
    registers[REG_RAX] = tid;
    return;
  }
  if (tid > 0) {
    // It may have said so itself, or ended already, and then the slot may be another creator's.
    int expected = -self->pid;
    shared->slots[slot].compare_exchange_strong(expected, static_cast<int>(tid));
    registers[REG_RAX] = tid;
    WatchOutsideSignals();
    return;
  }
  // The thread. This stack is a copy of its creator's, so returning from the handler starts it.
  self->pid = static_cast<int>(Kernel(SYS_getpid));
  self->slot = slot;
  self->is_main = 0;
  self->clear_tid = (flags & CLONE_CHILD_CLEARTID) != 0 ? child_tid : 0;
  self->alternate_size = 0;
  self->kept_count = 0;
  self->in_call = 1;  // until its first sub-computation starts
  self->name_fd = 0;
  self->creating = 0;
  Kernel(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (Kernel(SYS_getppid) != shared->main_pid) Kernel(SYS_exit_group, 0);
  BeginProcess();
  shared->slots[slot].store(self->pid);
  if ((flags & CLONE_CHILD_SETTID) != 0)
    *reinterpret_cast<uint32_t*>(child_tid) = static_cast<uint32_t>(self->pid);
  registers[REG_RAX] = 0;
  if (stack_top != 0) registers[REG_RSP] = static_cast<greg_t>(stack_top);
}

void Clone3Call(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  clone_args arguments = {};
  const auto size = static_cast<uint64_t>(registers[REG_RSI]);
  if (size < CLONE_ARGS_SIZE_VER0 || size > sizeof arguments) {
    registers[REG_RAX] = -EINVAL;
    return;
  }
  CopyBytes(&arguments, reinterpret_cast<const void*>(registers[REG_RDI]), size);
  if ((arguments.flags & CLONE_VFORK) != 0) {
    SpawnCall(context);
  } else if ((arguments.flags & CLONE_THREAD) != 0) {
    CloneCall(context, arguments.flags,
              arguments.stack != 0 ? arguments.stack + arguments.stack_size : 0,
              arguments.parent_tid, arguments.child_tid, arguments.tls);
  } else if ((arguments.flags & CLONE_VM) != 0 || arguments.stack != 0) {
    registers[REG_RAX] = -ENOSYS;
  } else {
    ForkCall(context, arguments.flags | arguments.exit_signal, arguments.parent_tid,
             arguments.child_tid);
  }
}

// The child runs in this very process's memory until it executes a program, on a stack of its own: the frame of the
// stub is written there too, so that it returns from the call like its parent.
void SpawnCall(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  MakeAllAccessible();
  if (registers[REG_RAX] == SYS_vfork) {
    self->vfork_return = static_cast<uint64_t>(registers[REG_RIP]);
    registers[REG_RIP] = reinterpret_cast<greg_t>(&wf_stub_vfork);
    return;
  }
  uint64_t top = 0;
  if (registers[REG_RAX] == SYS_clone3) {
    auto* copy = reinterpret_cast<clone_args*>(self->clone_scratch);
    CopyBytes(copy, reinterpret_cast<const void*>(registers[REG_RDI]),
              static_cast<uint64_t>(registers[REG_RSI]));
    if (copy->stack == 0) {
      self->vfork_return = static_cast<uint64_t>(registers[REG_RIP]);
      registers[REG_RIP] = reinterpret_cast<greg_t>(&wf_stub_vfork);
      return;
    }
    copy->stack_size -= kFrame;
    top = copy->stack + copy->stack_size;
    registers[REG_RDI] = Word(self->clone_scratch);
  } else {
    if (registers[REG_RSI] == 0) {
      self->vfork_return = static_cast<uint64_t>(registers[REG_RIP]);
      registers[REG_RIP] = reinterpret_cast<greg_t>(&wf_stub_vfork);
      return;
    }
    registers[REG_RSI] -= kFrame;
    top = static_cast<uint64_t>(registers[REG_RSI]);
  }
  auto* frame = reinterpret_cast<StubFrame*>(top);
  frame->return_to = static_cast<uint64_t>(registers[REG_RIP]);
  frame->number = static_cast<uint64_t>(registers[REG_RAX]);
  PassCallOnce(context);
}

void ForkCall(ucontext_t* context, uint64_t flags, uint64_t parent_tid, uint64_t child_tid) {
  greg_t* registers = context->uc_mcontext.gregs;
  MemoryCopy copy;
  shared->memory_lock.Take();
  const long copied = CopyMemory(&copy);
  shared->memory_lock.Give();
  if (copied < 0) {
    registers[REG_RAX] = copied;
    return;
  }
  if ((flags & CLONE_PARENT_SETTID) != 0) MakeAccessible(parent_tid, 4);
  // The child's thread id must not be written into memory that is still its parent's.
  const uint64_t kept = flags & ~static_cast<uint64_t>(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID);
  const long pid =
      Kernel(SYS_clone, static_cast<long>(kept), 0, static_cast<long>(parent_tid), 0, 0);
  if (pid != 0) {
    Kernel(SYS_close, copy.arena_fd);
    Kernel(SYS_close, copy.recorder_fd);
    registers[REG_RAX] = pid;
    return;
  }
  // Descriptors of the other processes' trackers came along with the table.
  StopTracker();
  AdoptCopy(copy);
  self->pid = static_cast<int>(Kernel(SYS_getpid));
  self->slot = 0;
  self->is_main = 1;
  self->kept_count = 0;
  shared->memory_lock.Reset();
  shared->signal_lock.Reset();
  shared->thread_lock.Reset();
  shared->streams.lock.Reset();
  shared->name_lock.Reset();
  shared->main_pid = self->pid;
  shared->parent_pid = static_cast<int>(Kernel(SYS_getppid));
  for (int i = 0; i < shared->slots_high; ++i) shared->slots[i].store(0);
  shared->slots_high = 1;
  shared->slots[0].store(self->pid);
  shared->live.store(1);
  while (shared->leftovers_count > 0)
    CloseTrackerOf(shared->leftovers[shared->leftovers_count - 1].pid);
  shared->end_kind.store(0);
  shared->main_gone.store(0);
  shared->arguments_noted = 0;
  BeginProcess();
  if ((flags & CLONE_CHILD_SETTID) != 0)
    *reinterpret_cast<uint32_t*>(child_tid) = static_cast<uint32_t>(self->pid);
  registers[REG_RAX] = 0;
}

namespace {

// What the kernel does with the robust mutexes of a thread that ends, done before another thread can have
// joined it: the kernel does it only when the process ends, later.
void GiveUpRobustMutexes() {
  uint64_t head = 0, length = 0;
  Kernel(SYS_get_robust_list, 0, Word(&head), Word(&length));
  if (head == 0) return;
  // First entry, offset of the lock, pending entry.
  const auto* words = reinterpret_cast<const uint64_t*>(head);
  const auto give_up = [&](uint64_t entry) {
    // The lowest bit says that the mutex inherits priority: its waiters are the kernel's.
    const bool inherits = (entry & 1) != 0;
    auto* word = reinterpret_cast<uint32_t*>((entry & ~uint64_t{1}) + words[1]);
    uint32_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if ((value & FUTEX_TID_MASK) != static_cast<uint32_t>(self->pid)) return;
    if (inherits && (value & FUTEX_WAITERS) != 0) {
      __atomic_or_fetch(word, FUTEX_OWNER_DIED, __ATOMIC_RELEASE);
      Kernel(SYS_futex, Word(word), FUTEX_UNLOCK_PI);
      return;
    }
    while (!__atomic_compare_exchange_n(word, &value, (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED,
                                        false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    if ((value & FUTEX_WAITERS) != 0) Kernel(SYS_futex, Word(word), FUTEX_WAKE, 1);
  };
  int limit = 2048;  // the kernel's
  for (uint64_t at = words[0]; (at & ~uint64_t{1}) != head && at != 0 && limit-- > 0;) {
    const uint64_t next = *reinterpret_cast<const uint64_t*>(at & ~uint64_t{1});
    if (at != words[2]) give_up(at);
    at = next;
  }
  if (words[2] != 0) give_up(words[2]);
  Kernel(SYS_set_robust_list, 0, static_cast<long>(length));
}

}  // namespace

void EndThread() {
  GiveUpRobustMutexes();
  const bool last = shared->live.fetch_sub(1) == 1;
  if (last) End(EndKind::kExit, 0);
  if (self->is_main != 0) {
    shared->main_gone.store(1);
    if (self->clear_tid != 0) {  // another thread may join it
      *reinterpret_cast<volatile uint32_t*>(self->clear_tid) = 0;
      Kernel(SYS_futex, static_cast<long>(self->clear_tid), FUTEX_WAKE, 1);
    }
    WaitForEnd();
  }
  if (self->clear_tid != 0) MakeAccessible(self->clear_tid, 4);
  if (!LeaveTracker()) StopTracker();
  shared->slots[self->slot].store(0);
  if (shared->ended.fetch_add(1) % 64 == 63) SendControl(shared->main_pid);
  wf_gate_end_thread(reinterpret_cast<uint32_t*>(self->clear_tid));
}

void EndProcess(int status) { End(EndKind::kExit, status); }
void DieBySignal(int signal) { End(EndKind::kSignal, signal); }

long NameThread(int tid, const char* name, uint64_t length) {
  if (length > 15) return -EINVAL;
  shared->name_lock.Take();
  CopyBytes(shared->name, name, length);
  shared->name[length] = 0;
  shared->name_tid.store(tid);
  SendControl(tid);
  while (shared->name_tid.load() == tid && Kernel(SYS_kill, tid, 0) == 0) Kernel(SYS_sched_yield);
  shared->name_tid.store(0);
  shared->name_lock.Give();
  return static_cast<long>(length);
}

void OnControl() {
  if (shared->name_tid.load() == self->pid) {
    Kernel(SYS_prctl, PR_SET_NAME, Word(shared->name));
    shared->name_tid.store(0);
  }
  if (self->is_main != 0) {
    if (shared->end_kind.load() != 0) EndNow();
    Reap();
    if (g_region != nullptr && g_region->signals_waiting.load() != 0) PassOnOutsideSignals();
  } else if (shared->end_kind.load() != 0) {
    if (self->in_call != kLastNoted && hooks.last_pages != nullptr) hooks.last_pages();
    if (self->in_call != kLastNoted) shared->gathered.fetch_add(1);
    self->in_call = kLastNoted;
    WaitForEnd();
  }
  SyncSignals();
}

}  // namespace wf::recorder::data
