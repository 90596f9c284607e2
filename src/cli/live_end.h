// When a live query ends: by Ctrl-C, or after a time that its flags give.
#pragma once

#include <string>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::cli {

// StopOnInterrupt; after a second Ctrl-C whoever misses us (the server its listener, the kernel the owner of its
// probes) takes the query out. SIGPIPE, of `| head`, becomes an error of
// writing, which takes the query out too.
void EndOnInterrupt();

// Of a flag: "10s"; more than nothing.
Result<Nanos> PositiveDuration(const char* flag, const std::string& text);

}  // namespace wf::cli
