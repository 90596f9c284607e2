#include "weaver/constant_pages.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "weaver/process_facts.h"

namespace wf::weaver {
namespace {

constexpr uint64_t kPage = 4096;
// More than the constants of any program should be; 2 ms to go through.
constexpr uint64_t kMostPages = (64u << 20) / kPage;
constexpr size_t kAtOnce = 512;

void TouchPages(pid_t pid, uint64_t begin, uint64_t end) {
  std::vector<iovec> there;
  std::vector<char> bytes(kAtOnce);
  for (uint64_t at = begin; at < end;) {
    there.clear();
    for (; at < end && there.size() < kAtOnce; at += kPage)
      there.push_back({reinterpret_cast<void*>(at), 1});  // NOLINT(performance-no-int-to-ptr)
    iovec here{bytes.data(), there.size()};
    ::process_vm_readv(pid, &here, 1, there.data(), there.size(), 0);
  }
}

}  // namespace

void TouchConstants(pid_t pid) {
  const std::string executable = ExecutableOf(pid);
  std::FILE* maps = std::fopen(fmt::format("/proc/{}/maps", pid).c_str(), "re");
  if (maps == nullptr) return;
  char line[4608];
  uint64_t left = kMostPages;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    uint64_t begin = 0, end = 0;
    char rights[5] = {};
    int path = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &begin, &end, rights,
                    &path) != 3)
      continue;
    line[std::strcspn(line, "\n")] = '\0';
    if (std::strncmp(rights, "r--", 3) != 0 || path == 0 || executable != line + path) continue;
    const uint64_t pages = std::min((end - begin) / kPage, left);
    left -= pages;
    TouchPages(pid, begin, begin + pages * kPage);
  }
  std::fclose(maps);
}

}  // namespace wf::weaver
