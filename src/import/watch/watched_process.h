// WatchedProcess: what /proc tells of a process that is to be probed: what it is called, where its code is, what its
// addresses mean. Read once; a process that ends meanwhile makes later answers poorer, never wrong.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::watch {

struct ProcessMapping {
  uint64_t begin = 0, end = 0;
  bool executable = false;
  std::string file;  // empty: anonymous; "[heap]" and the like as they stand
};
// Of the text of /proc/PID/maps; lines that are not understood are left out.
std::vector<ProcessMapping> ParseMappings(std::string_view text);

class WatchedProcess {
 public:
  static Result<WatchedProcess> Look(pid_t pid);

  pid_t pid = 0;
  std::string host, service;  // service: $OTEL_SERVICE_NAME of the process, else its program's name
  uint64_t started = 0;       // in clock ticks since boot; with pid, who it is
  uint64_t pid_namespace_device = 0, pid_namespace_inode = 0;
  pid_t own_pid = 0;  // as it sees itself, in its namespace
  std::vector<ProcessMapping> mappings;
  // Programs and libraries: where each lies in memory, zeroed data included.
  struct Image {
    uint64_t begin = 0, end = 0;
    std::string name;
  };
  std::vector<Image> images;

  // Its code's files as this process can open them, each once.
  std::vector<std::string> CodeFiles() const;
  // "libshop.so+0x4040" for what lies in a program or library, "0x7f12a0c01230" for what does not.
  std::string NameOf(uint64_t address) const;
  // "worker 3"; empty when it has ended.
  std::string ThreadName(uint32_t thread) const;
};

}  // namespace wf::watch
