// Where a tracepoint is in a running process, or in an executable that is not running yet.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "elf/elf_image.h"
#include "weaver/probe_site.h"
#include "weaver/tracepoint_file.h"

namespace wf::weaver {

struct LocateTarget {
  pid_t pid = 0;    // the executable and everything this process has loaded
  std::string exe;  // instead: this file, and its needed libraries that the loader would find
};

// Files kept open while several tracepoints are located, so that the symbols and the debug information of
// each are read once. Not kept longer, because a file may be replaced.
class OpenImages {
 public:
  // Valid for the life of this object.
  Result<const elf::ElfImage*> Open(const std::string& file, const std::string& debug_root);
  void Close() { images_.clear(); }

 private:
  std::map<std::pair<std::string, std::string>, std::unique_ptr<elf::ElfImage>> images_;
};

// NotFound if none of the locations exists; BadInput if an export cannot be read at one of them (a double in
// a register, an unknown argument); the notes list what was left out at some of several places.
Result<LocatedTracepoint> Locate(const TracepointDefinition& definition, const LocateTarget& target,
                                 OpenImages& images);
Result<LocatedTracepoint> Locate(const TracepointDefinition& definition,
                                 const LocateTarget& target);

}  // namespace wf::weaver
