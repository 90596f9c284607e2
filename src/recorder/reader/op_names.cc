#include "recorder/reader/op_names.h"

#include <sys/syscall.h>

#include <array>

namespace wf::recorder {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(Op::kKilled) + 1> kOps{
    "",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_timedlock",
    "pthread_mutex_clocklock",
    "pthread_mutex_unlock",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "pthread_spin_unlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_timedrdlock",
    "pthread_rwlock_clockrdlock",
    "pthread_rwlock_wrlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_timedwrlock",
    "pthread_rwlock_clockwrlock",
    "pthread_rwlock_unlock",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_cond_signal",
    "pthread_cond_broadcast",
    "pthread_barrier_wait",
    "sem_wait",
    "sem_trywait",
    "sem_timedwait",
    "sem_clockwait",
    "sem_post",
    "pthread_once",
    "pthread_create",
    "pthread_join",
    "pthread_tryjoin_np",
    "pthread_timedjoin_np",
    "pthread_clockjoin_np",
    "mtx_lock",
    "mtx_trylock",
    "mtx_timedlock",
    "mtx_unlock",
    "cnd_wait",
    "cnd_timedwait",
    "cnd_signal",
    "cnd_broadcast",
    "thrd_create",
    "thrd_join",
    "call_once",
    "fork",
    "vfork",
    "syscall",
    "syscall",
    "thread_exit",
    "exit",
    "process_exit",
    "killed",
};

constexpr std::array<std::string_view, 10> kObjects{
    "", "mutex", "spin", "rwlock", "cond", "barrier", "semaphore", "once", "thread", "futex"};

constexpr std::array<std::string_view, 8> kTransfers{"",       "file", "stdin",  "stdout",
                                                     "stderr", "pipe", "socket", "argument"};

struct SystemCall {
  uint32_t number;
  std::string_view name;
};
constexpr SystemCall kSystemCalls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_pread64, "pread64"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_preadv, "preadv"},
    {SYS_pwritev, "pwritev"},
    {SYS_preadv2, "preadv2"},
    {SYS_pwritev2, "pwritev2"},
    {SYS_sendto, "sendto"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendmmsg, "sendmmsg"},
    {SYS_recvmmsg, "recvmmsg"},
    {SYS_sendfile, "sendfile"},
    {SYS_splice, "splice"},
    {SYS_tee, "tee"},
    {SYS_vmsplice, "vmsplice"},
    {SYS_copy_file_range, "copy_file_range"},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_msync, "msync"},
    {SYS_getdents64, "getdents64"},
    {SYS_getrandom, "getrandom"},
    {SYS_readlink, "readlink"},
};

}  // namespace

std::string_view NameOf(Op op) {
  const auto at = static_cast<size_t>(op);
  return at < kOps.size() ? kOps[at] : std::string_view();
}

std::string_view CallOf(Op op) {
  if (op == Op::kFutexWait) return "futex_wait";
  if (op == Op::kFutexWake) return "futex_wake";
  return NameOf(op);
}

std::string_view NameOf(ObjectKind kind) {
  const auto at = static_cast<size_t>(kind);
  return at < kObjects.size() ? kObjects[at] : std::string_view();
}

std::string_view NameOf(TransferKind kind) {
  const auto at = static_cast<size_t>(kind);
  return at < kTransfers.size() ? kTransfers[at] : std::string_view();
}

std::string TransferOpName(TransferKind kind, uint16_t flags, uint32_t op) {
  if (kind == TransferKind::kArgument) return "argv";
  // read's number is 0, which also says that the number is not known; what mapped a file is.
  if ((flags & kMapped) != 0 && op == 0) return "mmap";
  for (const SystemCall& call : kSystemCalls) {
    if (call.number == op) return std::string(call.name);
  }
  return "syscall " + std::to_string(op);
}

std::string TransferOpName(const Transfer& transfer) {
  return TransferOpName(transfer.kind, transfer.flags, transfer.op);
}

}  // namespace wf::recorder
