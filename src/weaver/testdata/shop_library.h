// The shared library of the test program.
#pragma once
#include <string>

namespace shop {
long LibraryAdd(long a, int b);
struct Clock {
  virtual ~Clock() = default;
  virtual long Now(int zone) const = 0;
};
long Ask(const Clock& clock, int zone);
}  // namespace shop
extern "C" int library_read(int descriptor, const char* path, unsigned long count);
