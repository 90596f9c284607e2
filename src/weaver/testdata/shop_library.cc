#include "shop_library.h"

#define KEEP __attribute__((noinline))

namespace shop {
KEEP long LibraryAdd(long a, int b) { return a + b; }
KEEP long Ask(const Clock& clock, int zone) { return clock.Now(zone) + 1; }
}  // namespace shop

extern "C" KEEP int library_read(int descriptor, const char* path, unsigned long count) {
  return path == nullptr ? -1 : descriptor + static_cast<int>(count);
}
