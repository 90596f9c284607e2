#include "recorder/preload/data/handler_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "recorder/preload/data/gate.h"

namespace wf::recorder::data {

void HandlerLock::Take() {
  for (int spins = 0; spins < 40; ++spins) {
    uint32_t expected = 0;
    if (word_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return;
    __builtin_ia32_pause();
  }
  while (word_.exchange(2, std::memory_order_acquire) != 0)
    Kernel(SYS_futex, Word(&word_), FUTEX_WAIT, 2, 0);
}

void HandlerLock::Give() {
  if (word_.exchange(0, std::memory_order_release) == 2)
    Kernel(SYS_futex, Word(&word_), FUTEX_WAKE, 1);
}

}  // namespace wf::recorder::data
