// System calls without libc's wrappers: this library or others interpose several of those, and none of these
// functions changes errno. Negative results are -errno.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace wf::recorder {

inline long RawCall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                    long f = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

template <typename T>
long Arg(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace wf::recorder
