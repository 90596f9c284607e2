// The compact binary form of events, which libwherefore sends → EventBatch. docs/reference/events.md specifies it.
//
// A body with a broken structure is rejected as a whole, because nothing after a bad length can be found. A
// well-formed but unusable event (a zero id) is rejected and counted, and the rest is decoded.
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
