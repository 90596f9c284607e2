#include "import/watch/lock_functions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/file_descriptor.h"
#include "bpf/elf_functions.h"

namespace wf::watch {
namespace {

// A file's bytes without a copy of them.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about {};
    if (!file.valid() || ::fstat(file.get(), &about) != 0 || about.st_size <= 0) return;
    size_ = static_cast<size_t>(about.st_size);
    void* at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at != MAP_FAILED) data_ = static_cast<const char*>(at);
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return data_ == nullptr ? "" : std::string_view(data_, size_); }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

bool Begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// How near a file is to where the call ends: greater is nearer. By name, as the dynamic linker knows them: libc.so.6,
// libc-2.31.so, ld-musl-x86_64.so.1 (which is musl's C library), libpthread-2.31.so; not libc++.so.
int Depth(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (Begins(name, "libpthread.so") || Begins(name, "libpthread-")) return 2;
  if (Begins(name, "libc.so") || Begins(name, "libc-") || Begins(name, "libc.musl-") ||
      Begins(name, "ld-musl-"))
    return 1;
  return 0;
}

}  // namespace

// What waits on a condition gets no return probe: a thread may be cancelled there (bpf/uprobe.h).
const std::vector<LockFunction> kLockFunctions = {
    {"pthread_mutex_lock", LockCall::kLocks},
    {"pthread_mutex_trylock", LockCall::kLocks},
    {"pthread_mutex_timedlock", LockCall::kLocks},
    {"pthread_mutex_clocklock", LockCall::kLocks},
    {"pthread_mutex_unlock", LockCall::kUnlocks},
    {"pthread_rwlock_rdlock", LockCall::kReadLocks},
    {"pthread_rwlock_tryrdlock", LockCall::kReadLocks},
    {"pthread_rwlock_timedrdlock", LockCall::kReadLocks},
    {"pthread_rwlock_clockrdlock", LockCall::kReadLocks},
    {"pthread_rwlock_wrlock", LockCall::kWriteLocks},
    {"pthread_rwlock_trywrlock", LockCall::kWriteLocks},
    {"pthread_rwlock_timedwrlock", LockCall::kWriteLocks},
    {"pthread_rwlock_clockwrlock", LockCall::kWriteLocks},
    {"pthread_rwlock_unlock", LockCall::kUnlocks},
    {"pthread_cond_wait", LockCall::kWaits},
    {"pthread_cond_timedwait", LockCall::kWaits},
    {"pthread_cond_clockwait", LockCall::kWaits},
};

std::vector<LockFunctionPlace> WhereLocksAreTaken(std::vector<LockFunctionPlace> places) {
  std::vector<int> deepest(kLockFunctions.size(), 0);
  for (const LockFunctionPlace& place : places)
    deepest[place.function] = std::max(deepest[place.function], Depth(place.file));
  places.erase(std::remove_if(places.begin(), places.end(),
                              [&](const LockFunctionPlace& place) {
                                return Depth(place.file) < deepest[place.function];
                              }),
               places.end());
  return places;
}

std::vector<LockFunctionPlace> FindLockFunctions(const WatchedProcess& process) {
  std::vector<std::string_view> names;
  for (const LockFunction& function : kLockFunctions) names.push_back(function.name);
  std::vector<LockFunctionPlace> places;
  for (const std::string& file : process.CodeFiles()) {
    const MappedFile mapped(file);
    const auto found = bpf::FindElfFunctions(mapped.bytes(), names);
    if (!found.ok()) continue;
    for (const bpf::ElfFunction& function : *found)
      places.push_back({file, function.name, function.offset});
  }
  return WhereLocksAreTaken(std::move(places));
}

}  // namespace wf::watch
