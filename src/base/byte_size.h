#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace wf {

// "20GB", "512MiB", "1000000".
Result<int64_t> ParseByteSize(const std::string& text);

}  // namespace wf
