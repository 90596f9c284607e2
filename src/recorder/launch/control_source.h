// Where the branches of a program come from at control depth, and how the program is started for that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace wf::recorder {

struct ControlChoice {
  std::string source;    // "pt", "pt-overwrite", "coverage", "qemu"
  std::string emulator;  // for qemu: its path
  std::string plugin;    // for qemu: our plugin, on disk
  std::string reason;    // for the user, in one line
};

// `wanted`: one of the sources, or "auto": the processor if it supports tracing, else the program if it was
// compiled for it, else an emulator. The error says what is missing, and how to get it.
Result<ControlChoice> ChooseControl(const std::string& program, const std::string& wanted);

enum class Tell : uint8_t { kBranches, kPages };
// The emulator's command line for `command`, whose program was found at `program`.
std::vector<std::string> EmulatedCommand(const ControlChoice& choice, const std::string& program,
                                         const std::vector<std::string>& command,
                                         const std::string& preload, Tell tell);

}  // namespace wf::recorder
