// Requests a snapshot from the recorder of a running program.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace wf::recorder {

struct TakenSnapshot {
  std::string file;  // the recording that holds it
  uint32_t number = 0;
};

// NotFound if the process is not recorded; Denied if it belongs to another user.
Result<TakenSnapshot> RequestSnapshot(uint32_t pid);

}  // namespace wf::recorder
