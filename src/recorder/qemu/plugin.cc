// The plugin of QEMU's user mode emulator: which branches each thread takes, and with the argument pages=on which pages
// it touches, in each of its sub-computations. What a sub-computation is, the library preloaded into the emulated program
// knows; it says so by system calls that Linux does not have (recorder/format/branches.h), and the plugin listens.
//
// A call back before the last instruction of each block is enough: a conditional jump always ends a block, and where
// the next block begins tells which way it went. One before the first instruction would be as cheap, but would count
// the branch of a block that a fault left half way.
//
// Every guest thread is a thread of the emulator, so what belongs to a guest thread is touched by one thread only. What it
// writes goes into memory that the emulated program shares with its scribe.
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "recorder/format/block.h"
#include "recorder/format/records.h"
#include "recorder/preload/control/branch_rings.h"
#include "recorder/preload/control/emulator.h"
#include "recorder/preload/scribe.h"
#include "recorder/qemu/branch_log.h"
#include "recorder/qemu/page_log.h"
#include "recorder/qemu/plugin_api.h"
#include "recorder/qemu/transfer_log.h"

int qemu_plugin_version = 1;

namespace wf::recorder {
namespace {

// As the kernel has it in rt_sigaction.
struct KernelAction {
  uint64_t handler;
  uint64_t flags;
  uint64_t restorer;
  uint64_t mask;
};
constexpr uint64_t kSignals = 65;

struct Thread {
  // Of the rt_sigaction it is in: where the old one goes, and what that is.
  uint64_t old_action = 0;
  uint64_t old_handler = 0;
  bool open = false;  // a sub-computation runs
  BranchLog branches;
  PageLog pages;
  bool suspended = false;  // it was open when the recorder began to work for itself
  TransferLog transfers;
  const Block* last = nullptr;  // that ran
};

// All of it lives until the process ends: other threads may still be in a call back when it does.
struct Plugin {
  std::mutex blocks_mutex;  // of all below up to `with_pages`
  struct Key {
    uint64_t start;
    uint64_t last;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return key.start * 31 + key.last; }
  };
  std::unordered_map<Key, Block*, KeyHash> blocks;
  uint64_t own_begin = 0;
  uint64_t own_end = 0;
  uint64_t guest_base = 0;
  std::atomic<uint64_t> aligned_call{0};  // of kMarkSignals
  std::atomic<uint64_t> handlers{0};

  bool with_pages = false;  // set before anything is translated
};

Plugin& Self() {
  static Plugin* const kPlugin = new Plugin;
  return *kPlugin;
}

// By the emulator's number of a virtual processor, which is that of a thread; numbers are used again.
constexpr unsigned kMaxThreads = 1U << 16;
std::array<std::atomic<Thread*>, kMaxThreads> g_threads{};

Thread* Find(unsigned vcpu) {
  return vcpu < kMaxThreads ? g_threads[vcpu].load(std::memory_order_relaxed) : nullptr;
}

// --- translation ---

Block* BlockFor(const qemu_plugin_tb* tb, size_t instructions) {
  Plugin& self = Self();
  const qemu_plugin_insn* last = qemu_plugin_tb_get_insn(tb, instructions - 1);
  const Plugin::Key key = {qemu_plugin_tb_vaddr(tb), qemu_plugin_insn_vaddr(last)};
  const std::lock_guard lock(self.blocks_mutex);
  const qemu_plugin_insn* first = qemu_plugin_tb_get_insn(tb, 0);
  self.guest_base = reinterpret_cast<uint64_t>(qemu_plugin_insn_haddr(first)) - key.start;
  Block block;
  Classify(static_cast<const uint8_t*>(qemu_plugin_insn_data(last)), qemu_plugin_insn_size(last),
           key.last, block);
  block.start = key.start;
  block.own = key.start >= self.own_begin && key.start < self.own_end;
  const auto found = self.blocks.find(key);
  if (found != self.blocks.end() && found->second->end == block.end &&
      found->second->target == block.target && found->second->following == block.following)
    return found->second;
  // New code, or other code at the same place: translations of the old one may still run, so it stays as it is.
  static uint32_t next_id = 0;
  block.id = next_id++;
  return self.blocks[key] = new Block(block);
}

void OnBlock(unsigned vcpu, void* userdata) {
  Thread* const thread = Find(vcpu);
  if (thread == nullptr || !thread->open) return;
  const Block& block = *static_cast<const Block*>(userdata);
  if (block.own) return;
  thread->last = &block;
  thread->branches.Run(block);
}

void OnAccess(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void* userdata) {
  Thread* const thread = Find(vcpu);
  if (thread == nullptr || !thread->open || static_cast<const Block*>(userdata)->own) return;
  thread->pages.Touch(address, uint64_t{1} << qemu_plugin_mem_size_shift(info),
                      qemu_plugin_mem_is_store(info) ? Access::kWrite : Access::kRead);
}

void OnTranslation(qemu_plugin_id_t /*id*/, qemu_plugin_tb* tb) {
  const size_t instructions = qemu_plugin_tb_n_insns(tb);
  if (instructions == 0) return;
  Block* const block = BlockFor(tb, instructions);
  if (block->own) return;
  qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, instructions - 1), OnBlock,
                                         QEMU_PLUGIN_CB_NO_REGS, block);
  if (!Self().with_pages) return;
  for (size_t i = 0; i < instructions; ++i)
    qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), OnAccess,
                                     QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, block);
}

// --- what the preloaded library says ---

template <typename T>
T* Host(uint64_t guest_address) {
  return reinterpret_cast<T*>(guest_address + Self().guest_base);
}

// The first word of a process: a fresh one, or one that was just forked and has its parent's threads here.
void MarkProcess(uint64_t own_begin, uint64_t own_end, uint64_t answer) {
  Plugin& self = Self();
  {
    const std::lock_guard lock(self.blocks_mutex);
    self.own_begin = own_begin;
    self.own_end = own_end;
    for (auto& [key, block] : self.blocks)
      block->own = key.start >= own_begin && key.start < own_end;
  }
  for (auto& slot : g_threads)
    if (Thread* const thread = slot.load()) thread->open = false;
  // Addresses of the program must be the emulator's own: the scribe and the map of memory are outside.
  if (answer != 0 && self.guest_base == 0) *Host<uint64_t>(answer) = kMarkerAnswer;
}

void MarkThread(unsigned vcpu, uint64_t ring, uint64_t bytes, uint64_t bell) {
  if (vcpu >= kMaxThreads) return;
  Thread* thread = g_threads[vcpu].load();
  if (thread == nullptr) thread = new (std::nothrow) Thread;
  if (thread == nullptr) return;
  ScribeBell host = *Host<ScribeBell>(bell);
  for (auto* const part : {&host.kick, &host.sleeps, &host.gone})
    *part = Host<std::atomic<uint32_t>>(reinterpret_cast<uint64_t>(*part));
  thread->open = false;
  thread->pages.Close();
  thread->branches.Begin(Host<BranchRing>(ring), Host<uint8_t>(bytes), host);
  g_threads[vcpu].store(thread, std::memory_order_release);
}

// The scribe's own code, not emulated: it empties the rings that threads and this plugin fill.
void MarkScribe(uint64_t address) {
  auto& order = *Host<ScribeOrder>(address);
  g_branch_rings = order.branches;
  order.started = StartScribe(order.region, order.file, order.head) ? 1 : 0;
}

void TakePages(Thread& thread, uint64_t buffer, uint64_t capacity, uint64_t count) {
  if (buffer == 0 || count == 0) return;
  *Host<uint64_t>(count) = thread.pages.Take(Host<PageRun>(buffer), capacity);
}

void OnMarker(unsigned vcpu, uint64_t op, uint64_t a, uint64_t b, uint64_t c) {
  if (op == kMarkProcess) return MarkProcess(a, b, c);
  if (op == kMarkScribe) return MarkScribe(a);
  if (op == kMarkSignals) {
    Self().handlers = b;
    Self().aligned_call = a;
    return;
  }
  if (op == kMarkThread) return MarkThread(vcpu, a, b, c);
  Thread* const thread = Find(vcpu);
  if (thread == nullptr) return;
  switch (op) {
    case kMarkOpen:
      thread->branches.Open(a);
      thread->open = true;
      break;
    case kMarkClose:
      if (thread->open) {
        thread->open = false;
        thread->branches.Close();
        thread->pages.Close();
      }
      TakePages(*thread, a, b, c);
      break;
    case kMarkPages:
      TakePages(*thread, a, b, c);
      break;
    case kMarkSuspend:
      thread->suspended = thread->open;
      thread->open = false;
      break;
    case kMarkResume:
      thread->open = thread->suspended;
      break;
    case kMarkTransfers:
      if (a != 0 && c != 0) *Host<uint64_t>(c) = thread->transfers.Take(Host<uint8_t>(a), b);
      break;
    case kMarkExiting:
      thread->transfers.WriteTo(Host<Slot>(a), Host<Region>(b));
      thread->last = nullptr;  // the loader, which runs what is to run at the end
      break;
    case kMarkEnd:
      thread->open = false;
      break;
    default:
      break;
  }
}

// --- system calls ---

// The new handler goes into the array, and what calls it takes its place in what the program gave to the kernel, a copy
// that libc made. The old one is put right when the call returns.
void BeforeSigaction(Thread& thread, uint64_t signal, uint64_t action, uint64_t old_action) {
  const uint64_t aligned_call = Self().aligned_call;
  if (aligned_call == 0 || signal >= kSignals) return;
  uint64_t& handler = Host<uint64_t>(Self().handlers)[signal];
  thread.old_action = old_action;
  thread.old_handler = handler;
  if (action == 0) return;
  auto& given = *Host<KernelAction>(action);
  if (given.handler <= 1 || given.handler == aligned_call) return;  // SIG_DFL, SIG_IGN
  handler = given.handler;
  given.handler = aligned_call;
}

void AfterSigaction(Thread& thread, int64_t result) {
  if (thread.old_action == 0) return;
  auto& old = *Host<KernelAction>(thread.old_action);
  if (result == 0 && old.handler == Self().aligned_call) old.handler = thread.old_handler;
  thread.old_action = 0;
}

void OnSyscall(qemu_plugin_id_t /*id*/, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2,
               uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t /*a7*/,
               uint64_t /*a8*/) {
  if (number == kMarkerCall) return OnMarker(vcpu, a1, a2, a3, a4);
  Thread* const thread = Find(vcpu);
  if (thread == nullptr) return;
  if (number == SYS_rt_sigaction) BeforeSigaction(*thread, a1, a2, a3);
  if (Self().with_pages && (thread->open || thread->transfers.Exiting()))
    thread->transfers.Enter(number, {{a1, a2, a3, a4, a5, a6}}, thread->last);
}

void OnSyscallReturn(qemu_plugin_id_t /*id*/, unsigned vcpu, int64_t number, int64_t result) {
  if (number == kMarkerCall) return;
  Thread* const thread = Find(vcpu);
  if (thread == nullptr) return;
  if (number == SYS_rt_sigaction) AfterSigaction(*thread, result);
  thread->transfers.Return(result, thread->pages);
}

// QEMU says on stderr when a signal ends the program. That is the program's stderr, and its end is told by its status.
ssize_t WriteWithoutSignals(void* /*cookie*/, const char* text, size_t size) {
  constexpr char kWords[] = "qemu: uncaught target signal";
  if (size >= sizeof kWords - 1 && std::memcmp(text, kWords, sizeof kWords - 1) == 0)
    return static_cast<ssize_t>(size);
  return write(STDERR_FILENO, text, size);
}

void FilterStderr() {
  std::FILE* const filtered =
      fopencookie(nullptr, "w", {nullptr, WriteWithoutSignals, nullptr, nullptr});
  if (filtered == nullptr) return;
  std::setvbuf(filtered, nullptr, _IOLBF, 4096);
  stderr = filtered;
}

// The number of its processor may soon be another thread's.
void OnThreadExit(qemu_plugin_id_t /*id*/, unsigned vcpu) {
  if (Thread* const thread = Find(vcpu)) thread->open = false;
}

}  // namespace
}  // namespace wf::recorder

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  using namespace wf::recorder;
  if (info->system_emulation || std::strcmp(info->target_name, "x86_64") != 0) {
    std::fprintf(stderr, "wherefore: the plugin is for programs of x86-64, not for %s\n",
                 info->target_name);
    return 1;
  }
  for (int i = 0; i < argc; ++i)
    if (std::strcmp(argv[i], "pages=on") == 0) Self().with_pages = true;
  if (Self().with_pages) data::NoteStandardStreams();
  FilterStderr();
  qemu_plugin_register_vcpu_tb_trans_cb(id, OnTranslation);
  qemu_plugin_register_vcpu_syscall_cb(id, OnSyscall);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, OnSyscallReturn);
  qemu_plugin_register_vcpu_exit_cb(id, OnThreadExit);
  return 0;
}
