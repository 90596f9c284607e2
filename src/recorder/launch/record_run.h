// Runs a program under the recorder and waits until its recording is complete.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace wf::recorder {

struct RecordOptions {
  std::vector<std::string> command;  // PROG ARGS…
  std::string file;                  // empty: PROG.PID.cpg
  uint32_t depth = 1;                // bits of Depth
  uint32_t slots = 0;                // of the file, 4 MB each; 0: it grows
  uint32_t snapshot_every_ms = 0;    // 0: only on request
  // At control depth: where branches come from (control_source.h).
  std::string control_source = "auto";
  // Receives what the user should know before the program starts, one line each.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::string policy;  // of information flow, as recorder/format/flow_policy.h has it; empty: none
  std::string tracker = "auto";  // data depth: auto, uffd or sigsegv
};

// The result. `exit_status` is the one to exit with: PROG's own, 128 + N if signal N killed it, 125 if it was
// rejected, 126 if it is not executable, 127 if it was not found.
struct RecordRun {
  int exit_status = 0;
  std::string file;
  std::vector<std::string> words;  // for stderr, one line each
};

constexpr int kRefused = 125, kNotExecutable = 126, kNotFound = 127, kKilledBy = 128;

RecordRun RunRecorded(const RecordOptions& options);

}  // namespace wf::recorder
