// The compact binary form of events, which libwherefore sends → EventBatch. docs/reference/events.md specifies it.
//
// A body whose structure is broken is refused as a whole: what follows a bad length cannot be found. An event that is
// well-formed and unusable (a zero id) is rejected and counted, and the rest goes on.
#pragma once

#include <string_view>

#include "base/result.h"
#include "import/decode/attribute_writer.h"

namespace wf::events {

constexpr std::string_view kEventsBinaryContentType = "application/vnd.wherefore.events";

// On an error nothing is appended.
Status DecodeEventsBinary(std::string_view body, const decode::DecodeOptions& options,
                          EventBatch& out, decode::DecodeReport& report);

}  // namespace wf::events
