// WF_CHECK: a condition that only our own bug can break. It stays on in release.
#pragma once

#include <cstdio>
#include <cstdlib>

#define WF_CHECK(condition)                                                                \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      std::fprintf(stderr, "wherefore: bug: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)
