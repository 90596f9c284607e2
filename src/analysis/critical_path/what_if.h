// What if some work had been quicker, or slower? Replays a trace with the times that a selector matches
// scaled by a factor, and computes how long the request would then have taken. See
// docs/concepts/critical-path.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/critical_path/critical_path.h"

namespace wf::critical_path {

struct WhatIf {
  enum class By : uint8_t { kService, kOperation, kType, kSpan };
  By by = By::kType;
  std::string name;      // "*": any. kType: an edge's type or a path category
  uint64_t span_id = 0;  // kSpan
  double factor = 1;
};

// "type/resource=0.5x": SELECTOR=FACTORx, SELECTOR one of service/NAME, operation/NAME, type/NAME, span/ID.
Result<WhatIf> ParseWhatIf(std::string_view text);

struct WhatIfAnswer {
  int64_t matched = 0;    // spans and edges whose time was scaled
  Nanos duration_ns = 0;  // from the first place to the second, after the change
};

// Applies all changes at once. The places and the tolerance are those of FindCriticalPath.
WhatIfAnswer Replay(const Trace& trace, const CriticalPathOptions& options,
                    const std::vector<WhatIf>& changes);

}  // namespace wf::critical_path
