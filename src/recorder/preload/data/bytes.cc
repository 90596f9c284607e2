// The copying functions that compilers call on their own, for this library alone. libc's read a setting from libc's
// data, which is the program's memory: from within the handler, with a lock held, that would be a fault that waits for
// the lock; and everywhere it would be a page that the program never touched.
//
// The empty statements keep the compiler from seeing its own idiom in them and calling them again.
#include <emmintrin.h>

#include <cstddef>
#include <cstdint>

namespace {

template <typename T>
T Load(const unsigned char* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void Store(unsigned char* to, T value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// Both ends are read before anything is written, so that the two may overlap.
template <typename T>
void MoveEnds(unsigned char* to, const unsigned char* from, size_t count) {
  const T first = Load<T>(from), last = Load<T>(from + count - sizeof(T));
  Store(to, first);
  Store(to + count - sizeof(T), last);
}

bool MoveShort(unsigned char* to, const unsigned char* from, size_t count) {
  if (count > 32) return false;
  if (count >= 16) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + count - 16));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), first);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + count - 16), last);
  } else if (count >= 8) {
    MoveEnds<uint64_t>(to, from, count);
  } else if (count >= 4) {
    MoveEnds<uint32_t>(to, from, count);
  } else if (count >= 2) {
    MoveEnds<uint16_t>(to, from, count);
  } else if (count == 1) {
    *to = *from;
  }
  return true;
}

}  // namespace

// Under their own names they would be exported, for the compiler declares them itself.
#define WF_LOCAL extern "C" __attribute__((visibility("hidden"), used))
asm(R"(
  .globl memmove, memcpy, memset, memcmp
  .hidden memmove, memcpy, memset, memcmp
  .set memmove, wf_memmove
  .set memcpy, wf_memmove
  .set memset, wf_memset
  .set memcmp, wf_memcmp
)");

WF_LOCAL void* wf_memmove(void* to_pointer, const void* from_pointer, size_t count) {
  auto* to = static_cast<unsigned char*>(to_pointer);
  const auto* from = static_cast<const unsigned char*>(from_pointer);
  if (MoveShort(to, from, count)) return to_pointer;
  if (to <= from || to >= from + count) {
    if (to != from && count < 512) {
      // Blocks go up; the last may go over the one before, so it is read first.
      const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + count - 16));
      for (size_t at = 0; at + 16 < count; at += 16) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
        asm volatile("" ::: "memory");
      }
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + count - 16), last);
    } else {
      asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    }
    return to_pointer;
  }
  while (count >= 8) {
    count -= 8;
    Store(to + count, Load<uint64_t>(from + count));
    asm volatile("" ::: "memory");
  }
  while (count > 0) {
    --count;
    to[count] = from[count];
    asm volatile("" ::: "memory");
  }
  return to_pointer;
}

WF_LOCAL void* wf_memset(void* to_pointer, int value, size_t count) {
  void* to = to_pointer;
  asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
  return to_pointer;
}

WF_LOCAL int wf_memcmp(const void* a_pointer, const void* b_pointer, size_t count) {
  const auto* a = static_cast<const unsigned char*>(a_pointer);
  const auto* b = static_cast<const unsigned char*>(b_pointer);
  for (size_t i = 0; i < count; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    asm volatile("" ::: "memory");
  }
  return 0;
}
