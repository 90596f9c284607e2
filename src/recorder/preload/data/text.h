// The few string and memory functions that the handler needs, without libc.
#pragma once

#include <cstdint>

namespace wf::recorder::data {

inline uint64_t ReadHex(const char** at) {
  uint64_t value = 0;
  for (;; ++*at) {
    const char c = **at;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

inline bool StartsWith(const char* text, const char* prefix) {
  for (; *prefix != 0; ++text, ++prefix)
    if (*text != *prefix) return false;
  return true;
}

inline uint64_t Length(const char* text) {
  uint64_t n = 0;
  while (text[n] != 0) ++n;
  return n;
}

inline char* AppendText(char* to, const char* text) {
  while (*text != 0) *to++ = *text++;
  *to = 0;
  return to;
}

inline char* AppendNumber(char* to, uint64_t number) {
  char digits[24];
  int n = 0;
  do {
    digits[n++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (n > 0) *to++ = digits[--n];
  *to = 0;
  return to;
}

inline void CopyBytes(void* to, const void* from, uint64_t count) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

}  // namespace wf::recorder::data
