// fork, exec and their kin. A child by fork records into a file of its own from its first instruction on. One that
// shares memory with its parent until it execs (vfork, posix_spawn) begins when its new program starts, by the
// environment that it is given here.
#include "recorder/preload/process_calls.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "recorder/format/flow_policy.h"
#include "recorder/preload/raw_calls.h"
#include "recorder/preload/recording.h"
#include "recorder/preload/start.h"

namespace wf::recorder {
namespace {

thread_local uint32_t t_child_number __attribute__((tls_model("initial-exec"))) = 0;
thread_local bool t_in_fork __attribute__((tls_model("initial-exec"))) = false;

void NoteFork(Slot* slot, uint32_t number, pid_t pid) {
  Fork record = {};
  record.head = {RecordKind::kFork, 0, sizeof(record)};
  record.number = number;
  record.pid = static_cast<uint32_t>(pid);
  Append(slot, &record, sizeof(record));
}

void BeforeFork() {
  t_child_number = g_region == nullptr ? 0 : DrawChildNumber();
  if (g_hooks.fork_prepare != nullptr) g_hooks.fork_prepare();
}

void InParent() {
  if (g_hooks.fork_parent != nullptr) g_hooks.fork_parent();
  // A fork of libc's own (daemon, forkpty): no call of the list, but a child.
  if (!t_in_fork && t_slot != nullptr && t_child_number != 0) NoteFork(t_slot, t_child_number, 0);
}

void InChild() {
  if (g_hooks.fork_child != nullptr) g_hooks.fork_child();
  t_in_fork = false;
  RestartInChild(t_child_number);
}

template <typename Real>
pid_t RecordFork(uint64_t site, const Real& real_fork) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return real_fork();
  Call call(slot, Op::kFork, site);
  call.Entered();
  t_in_fork = true;
  const pid_t pid = real_fork();
  const int error = errno;
  if (pid == 0) return 0;  // nothing of the parent's recording is mapped here any more
  t_in_fork = false;
  if (pid > 0) {
    if (t_child_number != 0) NoteFork(slot, t_child_number, pid);
  } else {
    call.Flag(kFailed);
  }
  call.Finish();
  errno = error;
  return pid;
}

// --- The environment of new programs

bool Names(const char* entry, const char* name) {
  const size_t length = std::strlen(name);
  return std::strncmp(entry, name, length) == 0 && entry[length] == '=';
}

size_t CountEntries(char* const list[]) {
  size_t count = 0;
  while (list != nullptr && list[count] != nullptr) ++count;
  return count;
}

char* Put(char* at, const char* text) {
  const size_t length = std::strlen(text);
  std::memcpy(at, text, length + 1);
  return at + length;
}
char* PutNumber(char* at, uint32_t number) {
  char digits[12];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  while (n > 0) *at++ = digits[--n];
  *at = 0;
  return at;
}

// What a new program needs to be recorded, as entries of its environment.
struct alignas(8) OurEntries {
  char preload[3 * PATH_MAX];
  char file[PATH_MAX + 32];
  char root[48];
  char depth[48];
  char slots[48];
  char every[48];

  // `theirs`: LD_PRELOAD of the environment it is given, null if it has none. False: leave it as it is.
  bool Fill(const char* theirs) {
    const size_t length = theirs == nullptr ? 0 : std::strlen(theirs);
    if (length > 2 * PATH_MAX - 64) return false;
    char* at = Put(preload, "LD_PRELOAD=");
    if (PreloadPath()[0] == 0 ||
        (theirs != nullptr && std::strstr(theirs, PreloadPath()) != nullptr)) {
      if (theirs != nullptr) Put(at, theirs);
    } else {
      at = Put(at, PreloadPath());
      if (length != 0) Put(Put(at, ":"), theirs);
    }
    Put(Put(Put(file, kFileVariable), "="), RootPath());
    PutNumber(Put(Put(root, kRootVariable), "="), RootPid());
    PutNumber(Put(Put(depth, kDepthVariable), "="), ChosenDepth());
    PutNumber(Put(Put(slots, kSlotsVariable), "="), ChosenSlots());
    PutNumber(Put(Put(every, kEveryVariable), "="), ChosenEveryMs());
    return true;
  }
};

// Where the environment of a new program is put together: not on the stack, which may be small. A thread keeps it, because
// a vfork child, which has its parent's memory, could not give it back.
thread_local char* t_space __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local size_t t_space_size __attribute__((tls_model("initial-exec"))) = 0;

char* Space(size_t size) {
  if (size <= t_space_size) return t_space;
  const long at = RawCall(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at < 0 && at > -4096) return nullptr;
  FreeExecSpace();
  t_space = reinterpret_cast<char*>(at);
  t_space_size = size;
  return t_space;
}

// `given` with ours in place; as it is if there is no memory.
char* const* WithOurs(char* const given[]) {
  if (g_region == nullptr) return given;
  char* const space = Space(sizeof(OurEntries) + (CountEntries(given) + 9) * sizeof(char*));
  if (space == nullptr) return given;
  OurEntries& ours = *reinterpret_cast<OurEntries*>(space);
  char** out = reinterpret_cast<char**>(space + sizeof(OurEntries));
  const char* theirs = nullptr;
  for (size_t i = 0; given != nullptr && given[i] != nullptr; ++i)
    if (Names(given[i], "LD_PRELOAD")) theirs = given[i] + std::strlen("LD_PRELOAD=");
  if (!ours.Fill(theirs)) return given;
  size_t n = 0;
  for (size_t i = 0; given != nullptr && given[i] != nullptr; ++i) {
    if (Names(given[i], "LD_PRELOAD") || Names(given[i], kFileVariable) ||
        Names(given[i], kRootVariable) || Names(given[i], kDepthVariable) ||
        Names(given[i], kSlotsVariable) || Names(given[i], kEveryVariable) ||
        (PolicyEntry() != nullptr && Names(given[i], kPolicyVariable)))
      continue;
    out[n++] = given[i];
  }
  if (ours.preload[sizeof("LD_PRELOAD=") - 1] != 0) out[n++] = ours.preload;
  out[n++] = ours.file;
  out[n++] = ours.root;
  out[n++] = ours.depth;
  if (ChosenSlots() != 0) out[n++] = ours.slots;
  if (ChosenEveryMs() != 0) out[n++] = ours.every;
  if (PolicyEntry() != nullptr) out[n++] = const_cast<char*>(PolicyEntry());
  out[n] = nullptr;
  return out;
}

// The program of this process is about to be replaced; if that fails, nothing has happened.
template <typename Exec>
int RecordExec(uint64_t site, char* const given[], const Exec& exec) {
  if (CurrentSlot() == nullptr && g_region == nullptr) return exec(given);
  char* const* environment = WithOurs(given);
  NoteExitSite(site);
  NoteExit();
  const int rc = exec(environment);
  const int error = errno;
  NoteNoExit();
  errno = error;
  return rc;
}

// The arguments of execl and its kin, up to the null that ends them.
size_t CountArguments(va_list list) {
  size_t count = 1;
  while (va_arg(list, char*) != nullptr) ++count;
  return count;
}
void TakeArguments(const char* first, va_list list, size_t count, char** out) {
  out[0] = const_cast<char*>(first);
  for (size_t i = 1; i <= count; ++i) out[i] = va_arg(list, char*);
}

}  // namespace

void FreeExecSpace() {
  if (t_space != nullptr) RawCall(SYS_munmap, Arg(t_space), static_cast<long>(t_space_size));
  t_space = nullptr;
  t_space_size = 0;
}

void WatchForks() { ::pthread_atfork(BeforeFork, InParent, InChild); }

// A file that is being written and whose process is this one: exec kept the process and its scribe.
uint32_t FindOwnNumber() {
  const int root =
      static_cast<int>(RawCall(SYS_openat, AT_FDCWD, Arg(RootPath()), O_RDONLY | O_CLOEXEC));
  if (root < 0) return 0;
  SharedHead head = {};
  RawCall(SYS_pread64, root, Arg(&head), sizeof(head), 0);
  RawCall(SYS_close, root);
  const uint32_t me = static_cast<uint32_t>(RawCall(SYS_getpid));
  for (uint32_t number = head.children; number > 0; --number) {
    char path[PATH_MAX + 32];
    PutNumber(Put(Put(path, RootPath()), "."), number);
    const int fd = static_cast<int>(RawCall(SYS_openat, AT_FDCWD, Arg(path), O_RDONLY | O_CLOEXEC));
    if (fd < 0) continue;
    SharedHead child = {};
    RawCall(SYS_pread64, fd, Arg(&child), sizeof(child), 0);
    const bool own = child.head.pid == me && RawCall(SYS_flock, fd, LOCK_EX | LOCK_NB) != 0;
    RawCall(SYS_close, fd);
    if (own) return number;
  }
  return DrawChildNumber();
}

extern "C" __attribute__((used, visibility("hidden"))) void* WhereforeBeforeVfork(uint64_t site) {
  Slot* slot = CurrentSlot();
  if (slot != nullptr) {
    Call call(slot, Op::kVfork, site);
    call.Entered();
    call.FinishAtOnce();
  }
  return reinterpret_cast<void*>(real.vfork);
}

}  // namespace wf::recorder

// vfork returns twice on one stack: a frame of ours would be gone the second time. So the call is noted, and then libc's
// is jumped to as if the program had called it.
__asm__(
    ".text\n"
    ".globl vfork\n"
    ".type vfork, @function\n"
    "vfork:\n"
    "  .cfi_startproc\n"
    "  movq (%rsp), %rdi\n"
    "  subq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  call WhereforeBeforeVfork\n"
    "  addq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  jmp *%rax\n"
    "  .cfi_endproc\n"
    ".size vfork, .-vfork\n");

using namespace wf::recorder;

WF_EXPORT pid_t fork() {
  return RecordFork(WF_SITE, [] { return real.fork(); });
}

// Runs no handlers of pthread_atfork, so ours are run by hand.
WF_EXPORT pid_t _Fork() {
  return RecordFork(WF_SITE, [] {
    BeforeFork();
    const pid_t pid = real._Fork();
    if (pid == 0) {
      InChild();
    } else {
      InParent();
    }
    return pid;
  });
}

WF_EXPORT int execve(const char* path, char* const argv[], char* const envp[]) {
  return RecordExec(WF_SITE, envp, [&](char* const e[]) { return real.execve(path, argv, e); });
}

WF_EXPORT int execv(const char* path, char* const argv[]) {
  return RecordExec(WF_SITE, environ, [&](char* const e[]) { return real.execve(path, argv, e); });
}

WF_EXPORT int execvpe(const char* file, char* const argv[], char* const envp[]) {
  return RecordExec(WF_SITE, envp, [&](char* const e[]) { return real.execvpe(file, argv, e); });
}

WF_EXPORT int execvp(const char* file, char* const argv[]) {
  return RecordExec(WF_SITE, environ, [&](char* const e[]) { return real.execvpe(file, argv, e); });
}

WF_EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) {
  return RecordExec(WF_SITE, envp, [&](char* const e[]) { return real.fexecve(fd, argv, e); });
}

WF_EXPORT int execveat(int folder, const char* path, char* const argv[], char* const envp[],
                       int flags) {
  return RecordExec(WF_SITE, envp,
                    [&](char* const e[]) { return real.execveat(folder, path, argv, e, flags); });
}

WF_EXPORT int execl(const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  const size_t count = CountArguments(list);
  va_end(list);
  char** argv = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  va_start(list, first);
  TakeArguments(first, list, count, argv);
  va_end(list);
  return RecordExec(WF_SITE, environ, [&](char* const e[]) { return real.execve(path, argv, e); });
}

WF_EXPORT int execlp(const char* file, const char* first, ...) {
  va_list list;
  va_start(list, first);
  const size_t count = CountArguments(list);
  va_end(list);
  char** argv = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  va_start(list, first);
  TakeArguments(first, list, count, argv);
  va_end(list);
  return RecordExec(WF_SITE, environ, [&](char* const e[]) { return real.execvpe(file, argv, e); });
}

WF_EXPORT int execle(const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  const size_t count = CountArguments(list);
  va_end(list);
  char** argv = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  va_start(list, first);
  TakeArguments(first, list, count, argv);
  char** envp = va_arg(list, char**);
  va_end(list);
  return RecordExec(WF_SITE, envp, [&](char* const e[]) { return real.execve(path, argv, e); });
}

WF_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes, char* const argv[],
                          char* const envp[]) {
  CurrentSlot();
  return real.posix_spawn(pid, path, actions, attributes, argv, WithOurs(envp));
}

WF_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const argv[],
                           char* const envp[]) {
  CurrentSlot();
  return real.posix_spawnp(pid, file, actions, attributes, argv, WithOurs(envp));
}

WF_EXPORT void exit(int status) {
  CurrentSlot();
  NoteExitSite(WF_SITE);
  real.exit(status);
  __builtin_unreachable();
}

WF_EXPORT void _exit(int status) {
  CurrentSlot();
  NoteExitSite(WF_SITE);
  NoteExit();
  real._exit(status);
  __builtin_unreachable();
}

WF_EXPORT void _Exit(int status) {
  CurrentSlot();
  NoteExitSite(WF_SITE);
  NoteExit();
  real._exit(status);
  __builtin_unreachable();
}

WF_EXPORT void quick_exit(int status) {
  CurrentSlot();
  NoteExitSite(WF_SITE);
  NoteExit();
  real.quick_exit(status);
  __builtin_unreachable();
}
