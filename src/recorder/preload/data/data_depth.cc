#include "recorder/preload/data/data_depth.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/signals.h"
#include "recorder/preload/data/state.h"
#include "recorder/preload/data/text.h"
#include "recorder/preload/data/threads.h"
#include "recorder/preload/data/transfers.h"
#include "recorder/preload/data/trap.h"

extern "C" {
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
}

namespace wf::recorder::data {

Streams& ProgramStreams() { return shared->streams; }

void GiveUp(const char* why) {
  char line[256];
  char* to = AppendText(line, "wherefore record: ");
  to = AppendText(to, why);
  to = AppendText(to, "; the program cannot go on\n");
  Kernel(SYS_write, 2, Word(line), to - line);
  if (shared != nullptr && shared->main_pid != 0 && self->is_main == 0)
    Kernel(SYS_kill, shared->main_pid, SIGKILL);
  Kernel(SYS_exit_group, 125);
  __builtin_trap();
}

namespace {

void* Reserve(uint64_t size, int fd) {
  const long at = Kernel(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE, fd, 0);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

int MemoryFile(const char* name, uint64_t size) {
  const long fd = Kernel(SYS_memfd_create, Word(name), 1 /* MFD_CLOEXEC */);
  if (fd < 0) return -1;
  if (Kernel(SYS_ftruncate, fd, static_cast<long>(size)) < 0) return -1;
  return static_cast<int>(fd);
}

// Descriptors of ours lie above the program's limit, which stays what it was for the program.
// Where it cannot be raised the program loses the upper quarter. Returns the first descriptor of ours.
uint64_t RaiseDescriptorLimit() {
  rlimit64 was = {};
  Kernel(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, Word(&was));
  if (was.rlim_max < was.rlim_cur + was.rlim_cur / 4) return was.rlim_cur - was.rlim_cur / 4;
  rlimit64 raised = was;
  raised.rlim_cur = was.rlim_max;
  Kernel(SYS_prlimit64, 0, RLIMIT_NOFILE, Word(&raised), 0);
  return was.rlim_cur;
}

// The kernel writes to a registered restartable sequence at any time; a process made by clone would inherit its
// creator's. glibc does without.
void StopRestartableSequences() {
  if (&__rseq_offset == nullptr || &__rseq_size == nullptr || __rseq_size == 0) return;
  auto* area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  Kernel(SYS_rseq, Word(area), 32, 1 /* unregister */, 0x53053053);
  *reinterpret_cast<volatile int*>(area + 4) = -2;  // RSEQ_CPU_ID_REGISTRATION_FAILED
}

const char* begin_failed;

long BeginOnHandlerStack(void*) {
  begin_failed = ShareMemory();
  if (begin_failed != nullptr) return -1;
  MapRegionsOfNewProcess();
  return 0;
}

}  // namespace

const char* Begin(TrackerKind tracker) {
  const uint64_t first_own_fd = RaiseDescriptorLimit();
  const int recorder_fd = MemoryFile("wherefore-recorder", kRecorderSize);
  const int arena_fd = MemoryFile("wherefore-arena", 2 * kArenaSize);
  const int shared_fd = MemoryFile("wherefore-shared", 0);
  if (recorder_fd < 0 || arena_fd < 0 || shared_fd < 0) return "memory files are not available";
  auto* recorder = static_cast<char*>(Reserve(kRecorderSize, recorder_fd));
  void* arena = Reserve(kArenaSize, arena_fd);
  void* alias = Reserve(2 * kArenaSize, arena_fd);
  const uint64_t own = ((sizeof(Self) + kPage - 1) & ~(kPage - 1)) + kHandlerStack;
  const long block = Kernel(SYS_mmap, 0, static_cast<long>(own + 2 * kPage), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const long files = Kernel(SYS_mmap, 0, static_cast<long>(kArenaSize), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (recorder == nullptr || arena == nullptr || alias == nullptr || block < 0 || files < 0)
    return "the address space is too small (see ulimit -v)";
  Kernel(SYS_mprotect, block + static_cast<long>(kPage), static_cast<long>(own),
         PROT_READ | PROT_WRITE);

  shared = reinterpret_cast<Shared*>(recorder);
  self = reinterpret_cast<Self*>(block + static_cast<long>(kPage));
  wf_vfork_return_slot = &self->vfork_return;
  shared->recorder = reinterpret_cast<uint64_t>(recorder);
  shared->recorder_used.store((sizeof(Shared) + kPage - 1) & ~(kPage - 1));
  shared->descriptor_limit = first_own_fd;
  shared->first_own_fd = static_cast<int>(first_own_fd);
  shared->recorder_fd = MoveDescriptor(recorder_fd);
  shared->arena_fd = MoveDescriptor(arena_fd);
  shared->shared_fd = MoveDescriptor(shared_fd);
  if (shared->recorder_fd < 0 || shared->arena_fd < 0 || shared->shared_fd < 0)
    return "no descriptor is left (see ulimit -Hn)";
  shared->arena = shared->arena_high = reinterpret_cast<uint64_t>(arena);
  shared->alias = reinterpret_cast<uint64_t>(alias);
  shared->free[0] = {shared->arena, shared->arena + kArenaSize};
  shared->free_count = 1;
  shared->annex_free[0] = {kArenaSize, 2 * kArenaSize};
  shared->annex_count = 1;
  shared->files = static_cast<uint64_t>(files);
  shared->files_end = shared->files + kArenaSize;
  shared->file_free[0] = {shared->files, shared->files_end};
  shared->file_free_count = 1;
  self->pid = static_cast<int>(Kernel(SYS_getpid));
  self->is_main = 1;
  Kernel(SYS_prctl, 40 /* PR_GET_TID_ADDRESS */, Word(&self->clear_tid));
  shared->main_pid = self->pid;
  shared->parent_pid = static_cast<int>(Kernel(SYS_getppid));
  shared->live.store(1);
  shared->slots_high = 1;
  shared->slots[0].store(self->pid);
  NoteStandardStreams();
  ReadArguments();
  FindLoader();
  StopRestartableSequences();
  const char* wrong = ChooseTracker(tracker);
  if (wrong == nullptr) wrong = StartSignals();
  if (wrong == nullptr) wrong = StartTrap();
  if (wrong != nullptr) return wrong;
  if (CallOnPrivateStack(&BeginOnHandlerStack, nullptr) < 0) return begin_failed;
  return nullptr;
}

bool Running() { return shared != nullptr; }

uint32_t ProgramOf(uint32_t pid) {
  if (shared == nullptr || !IsThread(static_cast<int>(pid))) return pid;
  return static_cast<uint32_t>(shared->main_pid);
}

long CallOnPrivateStack(long (*function)(void*), void* argument) {
  return wf_enter_handler(kCallOnPrivateStack, reinterpret_cast<long>(function),
                          reinterpret_cast<long>(argument));
}

void* RecorderMemory(size_t size) {
  const uint64_t rounded = (size + kPage - 1) & ~(kPage - 1);
  const uint64_t at = shared->recorder_used.fetch_add(rounded);
  if (at + rounded > kRecorderSize) GiveUp("the recorder's memory is used up");
  return reinterpret_cast<void*>(shared->recorder + at);
}

}  // namespace wf::recorder::data
