// Asks the recorder of a running program for a snapshot.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace wf::recorder {

struct TakenSnapshot {
  std::string file;  // the recording that it is in
  uint32_t number = 0;
};

// NotFound if the process is not recorded; Denied if it is another user's.
Result<TakenSnapshot> RequestSnapshot(uint32_t pid);

}  // namespace wf::recorder
