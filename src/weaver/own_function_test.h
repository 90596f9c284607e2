// Where a function of the running program stands in its file: what a probe on the tests' own functions needs.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace wf::weaver {

inline uint64_t FileOffset(const void* function) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[4096];
  uint64_t found = 0;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    uint64_t begin = 0, end = 0, offset = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin, &end, &offset) != 3)
      continue;
    const auto address = reinterpret_cast<uint64_t>(function);
    if (address >= begin && address < end) found = address - begin + offset;
  }
  std::fclose(maps);
  return found;
}

}  // namespace wf::weaver
