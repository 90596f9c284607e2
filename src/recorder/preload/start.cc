#include "recorder/preload/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <initializer_list>

#include "recorder/preload/control/branch_rings.h"
#include "recorder/preload/control/emulator.h"
#include "recorder/preload/data/data_depth.h"
#include "recorder/preload/process_calls.h"
#include "recorder/preload/raw_calls.h"
#include "recorder/preload/scribe.h"
#include "recorder/preload/threads.h"

namespace wf::recorder {

std::atomic<uint32_t> g_started{0};
const volatile uint32_t* g_fork_guard = nullptr;

namespace {

char g_preload[4096];    // our part of LD_PRELOAD; empty if the program links us
char g_root_path[4096];  // absolute
uint32_t g_root_pid = 0;
uint32_t g_depth = kSchedule;
uint32_t g_slots = 0;               // of the file; 0: it grows
uint32_t g_every_ms = 0;            // between snapshots; 0: only when asked for
SharedHead* g_root_head = nullptr;  // of F.cpg, shared with every process of the recording

const char* Environment(const char* name) {
  const size_t length = std::strlen(name);
  for (char** one = environ; one != nullptr && *one != nullptr; ++one)
    if (std::strncmp(*one, name, length) == 0 && (*one)[length] == '=') return *one + length + 1;
  return nullptr;
}

uint32_t ParseNumber(const char* text) {
  uint32_t value = 0;
  for (; text != nullptr && *text >= '0' && *text <= '9'; ++text)
    value = value * 10 + static_cast<uint32_t>(*text - '0');
  return value;
}

// At data depth threads are processes; each is the program.
uint32_t Pid() { return data::ProgramOf(static_cast<uint32_t>(RawCall(SYS_getpid))); }

// `path` as others would have to call it after a change of directory.
bool MakeAbsolute(const char* path, char* out, size_t room) {
  size_t used = 0;
  if (path[0] != '/') {
    const long got = RawCall(SYS_getcwd, Arg(out), static_cast<long>(room));
    if (got <= 0) return false;
    used = std::strlen(out);
    if (used + 1 < room) out[used++] = '/';
  }
  const size_t length = std::strlen(path);
  if (used + length + 16 > room) return false;
  std::memcpy(out + used, path, length + 1);
  return true;
}

void AppendNumber(char* text, uint32_t number) {
  char digits[12];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  char* at = text + std::strlen(text);
  *at++ = '.';
  while (n > 0) *at++ = digits[--n];
  *at = 0;
}

int OpenFile(const char* path, int flags) {
  return static_cast<int>(RawCall(SYS_openat, AT_FDCWD, Arg(path), flags | O_CLOEXEC, 0666));
}

SharedHead* MapHead(int fd) {
  struct stat facts;
  if (::fstat(fd, &facts) != 0 || facts.st_size < static_cast<off_t>(sizeof(SharedHead)))
    return nullptr;
  const long at = RawCall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<SharedHead*>(at);
}

bool IsRecording(const SharedHead& head) {
  return std::memcmp(head.head.magic, kMagic, sizeof(kMagic)) == 0 &&
         (head.head.head_size == sizeof(SharedHead) || head.head.head_size == kSlotHead);
}

void* MapShared(uint64_t size) {
  const long at = RawCall(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at < 0 && at > -4096) return nullptr;
  RawCall(SYS_madvise, at, static_cast<long>(size), MADV_DONTDUMP);
  return reinterpret_cast<void*>(at);
}

constexpr uint32_t kGuarded = 1;
const uint32_t g_no_guard = kGuarded;

// Once; a child that recording begins in again sets it anew.
void SetForkGuard() {
  static volatile uint32_t* page = nullptr;
  if (page == nullptr) {
    const long at =
        RawCall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((at < 0 && at > -4096) || RawCall(SYS_madvise, at, 4096, MADV_WIPEONFORK) != 0) {
      g_fork_guard = &g_no_guard;  // a kernel before 4.14
      return;
    }
    page = reinterpret_cast<volatile uint32_t*>(at);
  }
  *page = kGuarded;
  g_fork_guard = page;
}

uint64_t UnixNs() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Region* MakeRegion() {
  uint32_t slots = kSlots;
  auto* region = static_cast<Region*>(MapShared(RegionSize(slots)));
  while (region == nullptr && slots > 64) {
    slots /= 4;
    region = static_cast<Region*>(MapShared(RegionSize(slots)));
  }
  if (region == nullptr) return nullptr;
  region->slots_total = slots;
  g_object_table = static_cast<ObjectEntry*>(MapShared(kObjectTableSize));
  if (g_object_table == nullptr) {
    RawCall(SYS_munmap, Arg(region), RegionSize(slots));
    return nullptr;
  }
  if ((g_depth & kControl) != 0) MapBranchRings();  // StartControlDepth says so if there are none
  region->started_ns = MonotonicNs();
  region->pid = Pid();
  region->depth = g_depth;
  region->file_slots = g_slots;
  region->snapshot_every_ns = uint64_t{g_every_ms} * 1'000'000;
  region->exit_thread.store(kNoThread);
  region->modules_wanted.store(1);
  for (uint32_t i = 0; i < slots / 64; ++i) region->free_slots[i].store(~uint64_t{0});
  return region;
}

// The recording of this process's earlier image, or of an earlier run, gives way. A scribe that still writes it sees
// the new generation and ends; the lock says when it has.
bool TakeOver(int fd, SharedHead& fresh) {
  SharedHead* old = MapHead(fd);
  if (old != nullptr) {
    if (IsRecording(*old)) {
      fresh.generation = __atomic_add_fetch(&old->generation, 1, __ATOMIC_ACQ_REL);
      fresh.children = __atomic_load_n(&old->children, __ATOMIC_ACQUIRE);
      fresh.denied = __atomic_load_n(&old->denied, __ATOMIC_ACQUIRE);
      fresh.reported = __atomic_load_n(&old->reported, __ATOMIC_ACQUIRE);
    }
    RawCall(SYS_munmap, Arg(old), 4096);
  }
  for (int tries = 0; RawCall(SYS_flock, fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (tries == 400) return false;
    timespec pause = {0, 5'000'000};
    RawCall(SYS_nanosleep, Arg(&pause), 0);
  }
  return true;
}

// One line, and the program is not started.
[[noreturn]] void Refuse(const char* why) {
  for (const char* part : {"wherefore: ", why, "\n"})
    RawCall(SYS_write, 2, Arg(part), static_cast<long>(std::strlen(part)));
  while (true) RawCall(SYS_exit_group, 125);
}

const char* StartDepths() {
  // The emulator reports the pages too.
  if ((g_depth & kData) != 0 && !UnderEmulator()) {
    const char* why = StartDataDepth();
    if (why != nullptr) return why;
  }
  if ((g_depth & kControl) != 0) return StartControlDepth();
  return nullptr;
}

// Writes to `path` from here on. False: this process is not recorded.
bool StartFile(const char* path) {
  const int fd = OpenFile(path, O_RDWR | O_CREAT);
  if (fd < 0) return false;
  if ((g_depth & kControl) != 0) AskEmulator();
  SharedHead fresh = {};
  fresh.generation = 1;
  Region* region = nullptr;
  SharedHead* head = nullptr;
  if (TakeOver(fd, fresh) && (region = MakeRegion()) != nullptr) {
    std::memcpy(fresh.head.magic, kMagic, sizeof(kMagic));
    fresh.head.version = kVersion;
    fresh.head.depth = g_depth;
    fresh.head.started_unix_ns = UnixNs();
    fresh.head.started_ns = region->started_ns;
    fresh.head.pid = region->pid;
    fresh.head.head_size = g_slots == 0 ? sizeof(fresh) : kSlotHead;
    fresh.slots = g_slots;
    std::strncpy(region->file, path, sizeof(region->file) - 1);
    region->generation = fresh.generation;
    // The head goes in before the rest is cut off: a child that draws a number meanwhile finds a counter.
    if (RawCall(SYS_pwrite64, fd, Arg(&fresh), sizeof(fresh), 0) == sizeof(fresh) &&
        RawCall(SYS_ftruncate, fd, sizeof(fresh)) == 0 &&
        RawCall(SYS_ftruncate, fd, fresh.head.head_size) == 0 &&
        RawCall(SYS_lseek, fd, 0, SEEK_END) > 0)
      head = MapHead(fd);
  }
  bool started = false;
  if (head != nullptr) {
    started = StartScribe(region, fd, head);
    // The lock is the scribe's alone. A mapping would keep it, and children of ours would inherit that.
    RawCall(SYS_munmap, Arg(head), 4096);
  }
  RawCall(SYS_close, fd);
  if (!started) {
    if (region != nullptr) RawCall(SYS_munmap, Arg(region), RegionSize(region->slots_total));
    return false;
  }
  SetForkGuard();
  g_region = region;
  return true;
}

void NoteProgramName(Slot* slot) {
  char path[4096];
  const long length = RawCall(SYS_readlink, Arg("/proc/self/exe"), Arg(path), sizeof(path) - 1);
  if (length <= 0) return;
  path[length] = 0;
  const char* name = std::strrchr(path, '/');
  NoteThreadName(slot, kNoThread, name == nullptr ? path : name + 1);
}

void NoteHost(Slot* slot) {
  struct {
    Host record;
    char text[sizeof(utsname::nodename) + 8];
  } whole = {};
  utsname names;
  if (RawCall(SYS_uname, Arg(&names)) != 0) return;
  const size_t length = ::strnlen(names.nodename, sizeof(names.nodename));
  whole.record.head = {RecordKind::kHost, static_cast<uint16_t>(length),
                       static_cast<uint32_t>(sizeof(Host) + (length + 7) / 8 * 8)};
  std::memcpy(whole.text, names.nodename, length);
  Append(slot, &whole, whole.record.head.size);
}

void BeginMain() {
  t_slot = nullptr;
  t_off = 0;
  Slot* slot = AdoptThread();
  if (slot == nullptr) return;
  if (g_hooks.call_entered != nullptr) g_hooks.call_entered(slot);
  NoteProgramName(slot);
  NoteHost(slot);
  if (g_hooks.call_entered != nullptr) g_hooks.sub_computation_start(slot);
}

// F.cpg if this is the process it belongs to; else F.cpg.N of a child.
bool ChoosePath(char* path, size_t room) {
  std::memcpy(path, g_root_path, room);
  const int root = OpenFile(g_root_path, O_RDWR);
  const bool ours = g_root_pid == 0 || g_root_pid == Pid();
  if (root >= 0) {
    g_root_head = MapHead(root);
    if (g_root_head != nullptr && !IsRecording(*g_root_head)) {
      RawCall(SYS_munmap, Arg(g_root_head), 4096);
      g_root_head = nullptr;
    }
    // A linked program whose file is being written by another: a second instance, or a child that libc made.
    const bool taken = g_root_pid == 0 && g_root_head != nullptr &&
                       g_root_head->head.pid != Pid() &&
                       RawCall(SYS_flock, root, LOCK_EX | LOCK_NB) != 0;
    RawCall(SYS_flock, root, LOCK_UN);  // closing would not: the mapping keeps the file open
    RawCall(SYS_close, root);
    if (ours && !taken) return true;
    if (taken) g_root_pid = g_root_head->head.pid;
  } else if (ours) {
    return true;
  }
  const uint32_t number = FindOwnNumber();
  if (number == 0) return false;
  AppendNumber(path, number);
  return true;
}

// The name of LD_PRELOAD that ends in ours.
void KeepPreload() {
  const char* list = Environment("LD_PRELOAD");
  while (list != nullptr && *list != 0) {
    const size_t length = std::strcspn(list, ": \t");
    const char* slash = static_cast<const char*>(::memrchr(list, '/', length));
    const char* name = slash == nullptr ? list : slash + 1;
    if (std::strncmp(name, "libwherefore_record", 19) == 0 && length < sizeof(g_preload)) {
      std::memcpy(g_preload, list, length);
      g_preload[length] = 0;
      return;
    }
    list += length;
    list += std::strspn(list, ": \t");
  }
}

void Start() {
  ResolveReal();
  const char* file = Environment(kFileVariable);
  if (file == nullptr || *file == 0) return;
  if (!MakeAbsolute(file, g_root_path, sizeof(g_root_path))) return;
  g_root_pid = ParseNumber(Environment(kRootVariable));
  const uint32_t depth = ParseNumber(Environment(kDepthVariable));
  g_depth = depth | kSchedule;
  g_every_ms = ParseNumber(Environment(kEveryVariable));
  g_slots = ParseNumber(Environment(kSlotsVariable));
  if (g_slots > kMostSlots) g_slots = kMostSlots;
  if (g_slots == 1) g_slots = 2;  // one is written, one can be read
  KeepPreload();
  static char path[sizeof(g_root_path)];
  if (!ChoosePath(path, sizeof(path))) return;
  const int before = errno;
  if (StartFile(path)) {
    if (g_root_pid == 0) g_root_pid = Pid();
    if (g_root_head == nullptr || g_root_pid == Pid()) {
      const int root = OpenFile(g_root_path, O_RDWR);
      if (root >= 0) {
        g_root_head = MapHead(root);
        RawCall(SYS_close, root);
      }
    }
    MakeEndKey();
    WatchForks();
    const char* why = StartDepths();
    if (why != nullptr) Refuse(why);
    BeginMain();
  }
  errno = before;
}

}  // namespace

void EnsureStarted() {
  uint32_t expected = 0;
  if (!g_started.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) return;
  if (environ == nullptr) {
    // Code of the program that runs before libc's own start (.preinit_array): the next call tries again.
    ResolveReal();
    g_started.store(0, std::memory_order_release);
    return;
  }
  Start();
  g_started.store(2, std::memory_order_release);
}

const char* RootPath() { return g_root_path; }
uint32_t RootPid() { return g_root_pid; }
uint32_t ChosenDepth() { return g_depth; }
uint32_t ChosenSlots() { return g_slots; }
uint32_t ChosenEveryMs() { return g_every_ms; }

uint32_t DrawChildNumber() {
  if (g_root_head == nullptr) return 0;
  return __atomic_add_fetch(&g_root_head->children, 1, __ATOMIC_ACQ_REL);
}

void CountVerdict(uint16_t flag) {
  if (g_root_head == nullptr) return;
  __atomic_add_fetch(flag == kDenied ? &g_root_head->denied : &g_root_head->reported, 1,
                     __ATOMIC_ACQ_REL);
}

void StopInChild() {
  g_region = nullptr;
  t_slot = nullptr;
  t_off = 1;
}

void RestartInChild(uint32_t number) {
  Region* old = g_region;
  ObjectEntry* old_table = g_object_table;
  StopInChild();
  if (old != nullptr) {
    RawCall(SYS_munmap, Arg(old), RegionSize(old->slots_total));
    RawCall(SYS_munmap, Arg(old_table), kObjectTableSize);
  }
  if (number == 0) return;
  char path[sizeof(g_root_path)];
  std::memcpy(path, g_root_path, sizeof(path));
  AppendNumber(path, number);
  if (StartFile(path)) BeginMain();
}

Slot* SlotOfUnknownChild() {
  RestartInChild(DrawChildNumber());
  return t_slot;
}

bool OwnsRecording() { return g_region != nullptr && *g_fork_guard != 0 && g_region->pid == Pid(); }

void NoteExitSite(uint64_t site) {
  if (OwnsRecording()) g_region->exit_site.store(site);
}

void NoteExit() {
  if (!OwnsRecording()) return;
  Region* region = g_region;
  const Slot* slot = t_slot;
  if (slot != nullptr && g_hooks.sub_computation_end != nullptr)
    g_hooks.sub_computation_end(t_slot);
  if (slot != nullptr && UnderEmulator()) Mark(kMarkExiting, Arg(slot), Arg(region));
  region->exit_thread.store(slot != nullptr ? slot->thread : kNoThread);
  region->exit_ns.store(Now());
  region->exit_state.store(kExiting);
  KickScribe(region);
}

void NoteNoExit() {
  if (OwnsRecording()) g_region->exit_state.store(kRunning);
}

// Kept from the start: the program may change its environment.
const char* PreloadPath() { return g_preload; }

namespace {

__attribute__((constructor(101))) void OnLoad() {
  EnsureStarted();
  // Shows children that libc makes by itself (system, popen) that the file is not theirs.
  if (g_region != nullptr && Environment(kRootVariable) == nullptr) {
    char text[16] = "";
    AppendNumber(text, g_root_pid);
    ::setenv(kRootVariable, text + 1, 1);
    ::setenv(kFileVariable, g_root_path, 1);
  }
}

__attribute__((destructor(101))) void OnExit() { NoteExit(); }

}  // namespace
}  // namespace wf::recorder
