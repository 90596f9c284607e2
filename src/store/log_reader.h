// Reads one log file record by record.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "store/log_format.h"

namespace wf::store {

struct LogReadResult {
  uint64_t records = 0;
  uint64_t torn_bytes = 0;  // cut from the end: an interrupted write
};

// Calls `take` for each record. Damage before the end is an error that names file and offset.
Result<LogReadResult> ReadLog(const std::string& path, uint64_t number,
                              const std::function<Status(std::string_view payload)>& take);

}  // namespace wf::store
