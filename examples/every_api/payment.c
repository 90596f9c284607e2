/* Part of the shop that is written in C: the same request, the same trace. */
#include <wherefore/wherefore.h>

void pay(void) {
  wherefore_block* block = wherefore_block_begin("pay", WHEREFORE_INTERNAL);
  wherefore_label("card", "test");
  const uint64_t hold = wherefore_lock_request("terminal");
  wherefore_lock_acquire(hold);
  wherefore_inform("card read");
  wherefore_lock_release(hold);
  wherefore_block_end(block);
}
