// WatchedProcess: what /proc says about a process to be probed: its name, where its code is, what its
// addresses mean. Read once; if the process ends meanwhile, later answers have less detail but are never
// wrong.
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
// From the text of /proc/PID/maps; lines that are not understood are left out.
std::vector<ProcessMapping> ParseMappings(std::string_view text);

class WatchedProcess {
 public:
  static Result<WatchedProcess> Look(pid_t pid);

  pid_t pid = 0;
  std::string host, service;  // service: $OTEL_SERVICE_NAME of the process, else its program's name
  uint64_t started = 0;       // in clock ticks since boot; identifies the process together with pid
  uint64_t pid_namespace_device = 0, pid_namespace_inode = 0;
  pid_t own_pid = 0;  // as numbered in its own namespace
  std::vector<ProcessMapping> mappings;
  // Programs and libraries: the memory range of each, zeroed data included.
  struct Image {
    uint64_t begin = 0, end = 0;
    std::string name;
  };
  std::vector<Image> images;

  // The files of its code, as this process can open them, each once.
  std::vector<std::string> CodeFiles() const;
  // "libshop.so+0x4040" for an address in a program or library, else "0x7f12a0c01230".
  std::string NameOf(uint64_t address) const;
  // "worker 3"; empty if it has ended.
  std::string ThreadName(uint32_t thread) const;
};

}  // namespace wf::watch
