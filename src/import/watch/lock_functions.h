// Where the lock functions of a process are, so that probes can be placed there.
//
// Each call must hit one probe of each kind, or one wait on a condition would be reported twice. Sanitizers,
// recorders and other preloaded libraries define functions of the same names that end in a call of the C
// library's; so did C libraries before glibc 2.34, whose libc.so calls libpthread.so. So each function is
// probed where the work is done in the end: in libpthread if that has it, else in libc, and in other files
// only if neither has it, as in a static program. A library that replaces locks without calling the C library
// is therefore not seen if the C library is loaded too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/watch/watched_process.h"

namespace wf::watch {

enum class LockCall : uint8_t { kLocks, kReadLocks, kWriteLocks, kUnlocks, kWaits };

struct LockFunction {
  std::string_view name;
  LockCall call;
};
extern const std::vector<LockFunction> kLockFunctions;

// One function in one file.
struct LockFunctionPlace {
  std::string file;
  uint32_t function = 0;  // index in kLockFunctions
  uint64_t offset = 0;
};

// The `places` where the work is done in the end, in the same order.
std::vector<LockFunctionPlace> WhereLocksAreTaken(std::vector<LockFunctionPlace> places);

std::vector<LockFunctionPlace> FindLockFunctions(const WatchedProcess& process);

}  // namespace wf::watch
