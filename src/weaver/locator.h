// Where a tracepoint is in a running process, or in an executable that is not running yet.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "weaver/probe_site.h"
#include "weaver/tracepoint_file.h"

namespace wf::weaver {

struct LocateTarget {
  pid_t pid = 0;    // the executable and everything this process has loaded
  std::string exe;  // instead: this file, and the libraries it names that the loader would find
};

// NotFound if none of the locations is there; BadInput if an export cannot be read at one of them (a double in a
// register, an unknown argument); what is left out of several places is told in the notes.
Result<LocatedTracepoint> Locate(const TracepointDefinition& definition,
                                 const LocateTarget& target);

}  // namespace wf::weaver
