// Copies, compares and reads a few bytes without a function call: for names and small tuples, where calling
// memcpy costs more than the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wf {

constexpr size_t kShortBytes = 16;

// 1 to 8 bytes as one word; whoever hashes it mixes in their number, so padding is unambiguous.
inline uint64_t LoadShort(const char* from, size_t size) {
  if (size >= 4) {
    uint32_t low, high;
    std::memcpy(&low, from, 4);
    std::memcpy(&high, from + size - 4, 4);
    return low | static_cast<uint64_t>(high) << (8 * (size - 4));
  }
  const auto byte = [from](size_t i) {
    return static_cast<uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
  };
  return byte(0) | byte(size / 2) | byte(size - 1);
}

inline void CopyBytes(char* to, const char* from, size_t size) {
  if (size > kShortBytes) {
    std::memcpy(to, from, size);
  } else if (size >= 8) {
    uint64_t first, last;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + size - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + size - 8, &last, 8);
  } else if (size >= 4) {
    uint32_t first, last;
    std::memcpy(&first, from, 4);
    std::memcpy(&last, from + size - 4, 4);
    std::memcpy(to, &first, 4);
    std::memcpy(to + size - 4, &last, 4);
  } else if (size != 0) {
    const char first = from[0], middle = from[size / 2], last = from[size - 1];
    to[0] = first;
    to[size / 2] = middle;
    to[size - 1] = last;
  }
}

// Both have `size` bytes.
inline bool SameBytes(const char* a, const char* b, size_t size) {
  if (size > kShortBytes) return std::memcmp(a, b, size) == 0;
  if (size > 8) {
    uint64_t a_first, b_first;
    std::memcpy(&a_first, a, 8);
    std::memcpy(&b_first, b, 8);
    return a_first == b_first && LoadShort(a + 8, size - 8) == LoadShort(b + 8, size - 8);
  }
  return size == 0 || LoadShort(a, size) == LoadShort(b, size);
}

}  // namespace wf
