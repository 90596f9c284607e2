// One set of signal actions for processes that each have their own.
//
// `shared->actions` holds what the program asked for. In the kernel every action that would end the process or run a
// handler is `Dispatch`, so that a process that has not heard of a change yet still does the right thing, and so that
// the death of one thread by a signal is the death of all. Only ignoring and stopping are the kernel's own.
#include "recorder/preload/data/signals.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <cerrno>

#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/state.h"
#include "recorder/preload/data/text.h"
#include "recorder/preload/data/threads.h"
#include "recorder/preload/data/tracker.h"
#include "recorder/preload/recording.h"

namespace wf::recorder::data {
namespace {

constexpr uint64_t kRestorerFlag = 0x04000000;

struct KernelAction {
  uint64_t handler;
  uint64_t flags;
  uint64_t restorer;
  uint64_t mask;
};

constexpr uint64_t Bit(int signal) { return uint64_t{1} << (signal - 1); }
// Without these the program cannot run under us: they are never blocked.
constexpr uint64_t kPassing = Bit(SIGSYS) | Bit(SIGSEGV) | Bit(kControlSignal);

bool IgnoredByDefault(int signal) {
  return signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT;
}
bool StopsByDefault(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}
bool Ours(int signal) { return signal == SIGSYS || signal == SIGSEGV || signal == kControlSignal; }

void Install(int signal, void (*handler)(int, siginfo_t*, void*), uint64_t flags, uint64_t mask) {
  KernelAction action = {reinterpret_cast<uint64_t>(handler), flags | SA_SIGINFO | kRestorerFlag,
                         reinterpret_cast<uint64_t>(&wf_gate_restorer), mask};
  Kernel(SYS_rt_sigaction, signal, Word(&action), 0, 8);
}

// The control signal interrupted a call of the program, which must not notice.
void RestartStub(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  if (registers[REG_RAX] != -EINTR) return;
  const bool plain = registers[REG_RIP] == reinterpret_cast<greg_t>(wf_stub_plain_after);
  const bool post = registers[REG_RIP] == reinterpret_cast<greg_t>(wf_stub_post_after);
  if (!plain && !post) return;
  const auto* frame = reinterpret_cast<const StubFrame*>(registers[REG_RSP]);
  registers[REG_RAX] = static_cast<greg_t>(frame->number);
  if (shared->pending.load() != 0) {
    // Perhaps for this thread: the program makes the call again, and we look.
    constexpr greg_t kInstruction = 2;
    registers[REG_RIP] = static_cast<greg_t>(frame->return_to) - kInstruction;
    registers[REG_RSP] += kRedZone + static_cast<greg_t>(sizeof(StubFrame));
    return;
  }
  registers[REG_RIP] = reinterpret_cast<greg_t>(plain ? wf_stub_plain_call : wf_stub_post_call);
}

constexpr uint64_t kContextSize = 304;  // the kernel's; libc's is longer

// Of the saved vector registers: what the kernel wrote into the part that is left to software.
uint64_t StateSize(const char* state) {
  constexpr uint32_t kExtendedState = 0x46505853;
  const auto* words = reinterpret_cast<const uint32_t*>(state + 464);
  return words[0] == kExtendedState ? words[1] : 512;
}

// Has the program's handler run where the kernel would have run it: on the program's stack, or on the alternate stack
// that the program set. The kernel itself cannot: what it would write to may be closed. So its frame, which lies on our
// stack, is copied there, with the state of the vector registers, and returning from our handler enters the program's;
// that one returns through the copy.
void EnterHandler(const SignalAction& action, int signal, const siginfo_t* info,
                  ucontext_t* context) {
  constexpr uint64_t kInfoSize = 128;
  self->present_count = -1;  // it may run within a listed call, and touch anything
  greg_t* registers = context->uc_mcontext.gregs;
  auto stack = static_cast<uint64_t>(registers[REG_RSP]) - kRedZone;
  const bool on_alternate = stack - self->alternate_stack < self->alternate_size;
  if ((action.flags & SA_ONSTACK) != 0 && self->alternate_size != 0 && !on_alternate)
    stack = self->alternate_stack + self->alternate_size;
  const auto* state = reinterpret_cast<const char*>(context->uc_mcontext.fpregs);
  uint64_t state_size = 0, state_copy = 0;
  if (state != nullptr) {
    state_size = StateSize(state);
    state_copy = (stack - state_size) & ~uint64_t{63};
    CopyBytes(reinterpret_cast<void*>(state_copy), state, state_size);
    stack = state_copy;
  }
  const uint64_t frame = ((stack - 8 - kContextSize - kInfoSize) & ~uint64_t{15}) - 8;
  const uint64_t context_copy = frame + 8, info_copy = context_copy + kContextSize;
  *reinterpret_cast<uint64_t*>(frame) = reinterpret_cast<uint64_t>(&wf_trap_restorer);
  CopyBytes(reinterpret_cast<void*>(context_copy), context, kContextSize);
  reinterpret_cast<ucontext_t*>(context_copy)->uc_mcontext.fpregs =
      reinterpret_cast<fpregset_t>(state_copy);
  CopyBytes(reinterpret_cast<void*>(info_copy), info, kInfoSize);
  registers[REG_RIP] = static_cast<greg_t>(action.handler);
  registers[REG_RDI] = signal;
  registers[REG_RSI] = static_cast<greg_t>(info_copy);
  registers[REG_RDX] = static_cast<greg_t>(context_copy);
  registers[REG_RAX] = 0;
  registers[REG_RSP] = static_cast<greg_t>(frame);
  registers[REG_EFL] &= ~static_cast<greg_t>(0x500);  // direction and trap flags
  auto* mask = reinterpret_cast<uint64_t*>(&context->uc_sigmask);
  *mask |= action.mask | ((action.flags & SA_NODEFER) != 0 ? 0 : Bit(signal));
  *mask &= ~kPassing;
}

bool IsCrash(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGABRT;
}

// A fault, or abort, ends the program: it is noted where.
[[noreturn]] void Crash(int signal, const siginfo_t* info, const ucontext_t* context) {
  const greg_t* registers = context->uc_mcontext.gregs;
  // Sites are told by what follows them.
  auto site = static_cast<uint64_t>(registers[REG_RIP]) + 1;
  if (registers[REG_RIP] == reinterpret_cast<greg_t>(wf_stub_plain_after) ||
      registers[REG_RIP] == reinterpret_cast<greg_t>(wf_stub_post_after))
    site = reinterpret_cast<const StubFrame*>(registers[REG_RSP])->return_to;
  const bool fault = info->si_code > 0;
  if (IsCrash(signal) && hooks.crashed != nullptr)
    hooks.crashed(signal, fault ? reinterpret_cast<uint64_t>(info->si_addr) : 0, site);
  DieBySignal(signal);
}

bool KeptForLater(int signal, const siginfo_t* info, ucontext_t* context) {
  if (self->holding.load(std::memory_order_relaxed) == 0) return false;
  auto* mask = reinterpret_cast<uint64_t*>(&context->uc_sigmask);
  self->kept_signal = signal;
  self->kept_info = *info;
  self->kept_mask = *mask;
  *mask = ~(Bit(SIGSYS) | Bit(SIGSEGV));
  return true;
}

bool IsFault(int signal, const siginfo_t* info) {
  return info->si_code > 0 &&
         (signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP);
}

void Dispatch(int signal, siginfo_t* info, void* context) {
  if (!IsFault(signal, info) && KeptForLater(signal, info, static_cast<ucontext_t*>(context)))
    return;
  const SignalAction action = shared->actions[signal];
  if (action.handler == 1) return;
  if (action.handler == 0) {
    if (IgnoredByDefault(signal)) return;
    Crash(signal, info, static_cast<const ucontext_t*>(context));
  }
  if ((info->si_code == SI_TKILL || info->si_code == SI_USER || info->si_code == SI_QUEUE) &&
      IsThread(info->si_pid))
    info->si_pid = shared->main_pid;
  if ((action.flags & SA_RESETHAND) != 0) {
    shared->actions[signal] = {};
    SyncSignals();
  }
  EnterHandler(action, signal, info, static_cast<ucontext_t*>(context));
}

void OnControlSignal(int signal, siginfo_t* info, void* context) {
  if (KeptForLater(signal, info, static_cast<ucontext_t*>(context))) return;
  if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == shared) {
    OnControl();
    RestartStub(static_cast<ucontext_t*>(context));
    return;
  }
  Dispatch(signal, info, context);
}

void OnSegv(int signal, siginfo_t* info, void* ucontext) {
  auto* context = static_cast<ucontext_t*>(ucontext);
  if (info->si_code > 0) {
    const auto error = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_ERR]);
    const Access access = (error & 16) != 0  ? Access::kExecute
                          : (error & 2) != 0 ? Access::kWrite
                                             : Access::kRead;
    if (OnFault(reinterpret_cast<uint64_t>(info->si_addr), access) == Faulted::kRetry) return;
  } else if (KeptForLater(signal, info, context)) {
    return;
  }
  DeliverFault(signal, info, context);
}

void InstallAction(int signal) {
  if (Ours(signal) || signal == SIGKILL || signal == SIGSTOP) return;
  const SignalAction& action = shared->actions[signal];
  if (action.handler == 1 ||
      (action.handler == 0 && (IgnoredByDefault(signal) || StopsByDefault(signal)))) {
    KernelAction plain = {action.handler, action.flags & (SA_NOCLDWAIT | SA_NOCLDSTOP), 0, 0};
    Kernel(SYS_rt_sigaction, signal, Word(&plain), 0, 8);
  } else if (action.handler == 0) {
    Install(signal, &Dispatch, SA_ONSTACK | SA_RESTART, ~kPassing);
  } else {
    const uint64_t kept = action.flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT);
    Install(signal, &Dispatch, kept | SA_ONSTACK, ~kPassing);
  }
}

void InstallAll() {
  for (int signal = 1; signal < kSignals; ++signal) InstallAction(signal);
  self->signal_version = shared->signal_version.load(std::memory_order_acquire);
}

}  // namespace

SignalsHeld::SignalsHeld() {
  self->holding.store(1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

SignalsHeld::~SignalsHeld() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  self->holding.store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(self->kept_signal == 0, 1)) return;
  const int signal = self->kept_signal;
  self->kept_signal = 0;
  Kernel(SYS_rt_tgsigqueueinfo, self->pid, self->pid, signal, Word(&self->kept_info));
  uint64_t mask = self->kept_mask;
  Kernel(SYS_rt_sigprocmask, SIG_SETMASK, Word(&mask), 0, 8);
}

const char* StartSignals() {
  for (int signal = 1; signal < kSignals; ++signal) {
    KernelAction now = {};
    if (Kernel(SYS_rt_sigaction, signal, 0, Word(&now), 8) < 0) continue;
    shared->actions[signal] = {now.handler, now.flags & ~kRestorerFlag, now.mask};
  }
  stack_t stack = {};
  stack.ss_sp = reinterpret_cast<char*>(self) + ((sizeof(Self) + kPage - 1) & ~(kPage - 1));
  stack.ss_size = kHandlerStack;
  if (Kernel(SYS_sigaltstack, Word(&stack), 0) < 0) return "no stack for signal handlers";
  Install(SIGSYS, &OnSigsys, SA_ONSTACK | SA_NODEFER, ~(Bit(SIGSYS) | Bit(SIGSEGV)));
  Install(SIGSEGV, &OnSegv, SA_ONSTACK | SA_NODEFER, ~(Bit(SIGSYS) | Bit(SIGSEGV)));
  Install(kControlSignal, &OnControlSignal, SA_ONSTACK | SA_RESTART, ~(Bit(SIGSYS) | Bit(SIGSEGV)));
  InstallAll();
  return nullptr;
}

void SyncSignals() {
  if (shared->signal_version.load(std::memory_order_acquire) != self->signal_version) InstallAll();
}

long SigactionCall(int signal, const void* action, void* old, uint64_t size) {
  if (size != 8 || signal < 1 || signal >= kSignals) return -EINVAL;
  if (action != nullptr && (signal == SIGKILL || signal == SIGSTOP)) return -EINVAL;
  KernelAction wanted = {};
  if (action != nullptr) wanted = *static_cast<const KernelAction*>(action);
  shared->signal_lock.Take();
  const SignalAction was = shared->actions[signal];
  if (action != nullptr) {
    shared->actions[signal] = {wanted.handler, wanted.flags & ~kRestorerFlag, wanted.mask};
    shared->signal_version.fetch_add(1);
    InstallAction(signal);
  }
  shared->signal_lock.Give();
  if (old != nullptr)
    *static_cast<KernelAction*>(old) = {was.handler, was.flags | kRestorerFlag,
                                        reinterpret_cast<uint64_t>(&wf_gate_restorer), was.mask};
  if (action != nullptr && shared->live.load() > 1) TellOthers();
  return 0;
}

void SigprocmaskCall(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  const auto how = registers[REG_RDI];
  const auto* set = reinterpret_cast<const uint64_t*>(registers[REG_RSI]);
  auto* old = reinterpret_cast<uint64_t*>(registers[REG_RDX]);
  if (registers[REG_R10] != 8) {
    registers[REG_RAX] = -EINVAL;
    return;
  }
  auto* mask = reinterpret_cast<uint64_t*>(&context->uc_sigmask);
  const uint64_t was = *mask | self->hidden_mask;
  uint64_t now = was;
  if (set != nullptr) {
    if (how == SIG_BLOCK) {
      now |= *set;
    } else if (how == SIG_UNBLOCK) {
      now &= ~*set;
    } else if (how == SIG_SETMASK) {
      now = *set;
    } else {
      registers[REG_RAX] = -EINVAL;
      return;
    }
  }
  self->hidden_mask = now & kPassing & ~Bit(kControlSignal);
  *mask = now & ~kPassing;
  if (shared->pending.load() != 0) DeliverPending(*mask);
  if (old != nullptr) *old = was;
  registers[REG_RAX] = 0;
}

uint64_t PassableMask(uint64_t address) {
  if (address == 0) return 0;
  self->mask_scratch = *reinterpret_cast<const uint64_t*>(address) & ~kPassing;
  if (shared->pending.load() != 0) DeliverPending(self->mask_scratch);
  return reinterpret_cast<uint64_t>(&self->mask_scratch);
}

// The kernel's alternate stack is ours; EnterHandler knows the program's.
long SigaltstackCall(const void* stack, void* old) {
  if (old != nullptr) {
    auto* to = static_cast<stack_t*>(old);
    to->ss_sp = reinterpret_cast<void*>(self->alternate_stack);
    to->ss_size = self->alternate_size;
    to->ss_flags = self->alternate_size == 0 ? SS_DISABLE : self->alternate_flags;
  }
  if (stack != nullptr) {
    const auto* from = static_cast<const stack_t*>(stack);
    if ((from->ss_flags & SS_DISABLE) != 0) {
      self->alternate_size = 0;
      self->alternate_stack = 0;
    } else {
      if (from->ss_size < 2048) return -ENOMEM;
      self->alternate_stack = reinterpret_cast<uint64_t>(from->ss_sp);
      self->alternate_size = from->ss_size;
      self->alternate_flags = 0;
    }
  }
  return 0;
}

// The frame of the handler becomes ours, which the kernel can read.
void ReturnFromHandler(ucontext_t* context) {
  const auto* from = reinterpret_cast<const ucontext_t*>(context->uc_mcontext.gregs[REG_RSP]);
  const fpregset_t own_state = context->uc_mcontext.fpregs;
  const fpregset_t its_state = from->uc_mcontext.fpregs;
  if (own_state != nullptr && its_state != nullptr)
    CopyBytes(own_state, its_state, StateSize(reinterpret_cast<const char*>(own_state)));
  const stack_t own_stack = context->uc_stack;
  CopyBytes(context, from, kContextSize);
  context->uc_mcontext.fpregs = own_state;
  context->uc_stack = own_stack;
  *reinterpret_cast<uint64_t*>(&context->uc_sigmask) &= ~kPassing;
}

void DeliverFault(int signal, siginfo_t* info, ucontext_t* context) {
  const SignalAction action = shared->actions[signal];
  if (action.handler <= 1) Crash(signal, info, context);
  if ((action.flags & SA_RESETHAND) != 0) shared->actions[signal] = {};
  EnterHandler(action, signal, info, context);
}

namespace {

bool Blocks(int tid, int signal) {
  char path[32];
  AppendText(AppendNumber(AppendText(path, "/proc/"), static_cast<uint64_t>(tid)), "/status");
  const int fd = static_cast<int>(Kernel(SYS_open, Word(path), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return true;
  char text[4096];
  const long n = Kernel(SYS_read, fd, Word(text), sizeof text - 1);
  Kernel(SYS_close, fd);
  text[n < 0 ? 0 : n] = 0;
  for (const char* p = text; *p != 0; ++p) {
    if (!StartsWith(p, "SigBlk:\t")) continue;
    p += 8;
    return (ReadHex(&p) & Bit(signal)) != 0;
  }
  return true;
}

}  // namespace

int ReceiverOf(int signal, const siginfo_t* info) {
  if (signal < 1 || signal >= kSignals) return shared->main_pid;
  const bool one = shared->live.load() == 1;
  if (one || (shared->main_gone.load() == 0 && !Blocks(shared->main_pid, signal)))
    return shared->main_pid;
  for (int i = 0; i < shared->slots_high; ++i) {
    const int tid = shared->slots[i].load();
    if (tid <= 0 || tid == shared->main_pid) continue;
    if (!Blocks(tid, signal)) return tid;
  }
  if (shared->actions[signal].handler == 1) return shared->main_pid;
  shared->signal_lock.Take();
  shared->pending_info[signal] = *info;
  shared->pending.fetch_or(Bit(signal));
  shared->signal_lock.Give();
  TellOthers();  // one may be about to wait for it
  return 0;
}

void WatchOutsideSignals() {
  if (g_region == nullptr || g_region->signals_of.load(std::memory_order_relaxed) != 0) return;
  g_region->signals_word.store(reinterpret_cast<uint64_t>(shared));
  g_region->signals_of.store(static_cast<uint32_t>(shared->main_pid), std::memory_order_release);
}

void PassOnOutsideSignals() {
  uint64_t waiting = g_region->signals_waiting.exchange(0);
  if (shared->live.load() <= 1) {  // the one that is left keeps them
    g_region->signals_of.store(0);
    return;
  }
  for (; waiting != 0; waiting &= waiting - 1) {
    const int signal = __builtin_ctzll(waiting) + 1;
    uint64_t only = Bit(signal);
    siginfo_t info = {};
    int64_t at_once[2] = {0, 0};
    if (Kernel(SYS_rt_sigtimedwait, Word(&only), Word(&info), Word(at_once), 8) != signal) continue;
    if (info.si_code == SI_TKILL) {  // one for this thread alone waits too, and was taken first
      Kernel(SYS_rt_tgsigqueueinfo, self->pid, self->pid, signal, Word(&info));
      continue;
    }
    const int receiver = ReceiverOf(signal, &info);
    if (receiver != 0) Kernel(SYS_kill, receiver, signal);
  }
}

int TakePending(uint64_t set, siginfo_t* info) {
  if ((shared->pending.load() & set) == 0) return 0;
  shared->signal_lock.Take();
  const uint64_t both = shared->pending.load() & set;
  int signal = 0;
  if (both != 0) {
    signal = __builtin_ctzll(both) + 1;
    shared->pending.fetch_and(~Bit(signal));
    *info = shared->pending_info[signal];
  }
  shared->signal_lock.Give();
  return signal;
}

void DeliverPending(uint64_t mask) {
  siginfo_t info;
  for (int signal = TakePending(~mask, &info); signal != 0; signal = TakePending(~mask, &info))
    Kernel(SYS_tgkill, self->pid, self->pid, signal);
}

}  // namespace wf::recorder::data
