// /proc/PID/maps: which files a process has mapped, and which of them contain code.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::weaver {

struct MappedFile {
  std::string path;    // as the process sees it
  std::string device;  // "fd:01"
  uint64_t inode = 0;
  uint64_t lowest = 0;      // address of the lowest mapping of the file
  bool executable = false;  // some mapping of it is executable
  bool deleted = false;     // the file of this name was removed or replaced
};

// In order of address, each file once. Lines that are not mappings of files are skipped.
std::vector<MappedFile> ParseMaps(std::string_view text);

// The files with code that a process has loaded, the executable first.
struct LoadedObject {
  std::string seen_as;      // the path as the process sees it
  std::string file;         // the path to open it by, from here
  bool executable = false;  // it is the program itself
};
struct LoadedObjects {
  std::vector<LoadedObject> objects;
  std::vector<std::string> notes;  // about files that cannot be opened
};
Result<LoadedObjects> FindLoadedObjects(pid_t pid);

}  // namespace wf::weaver
