// A recorded program (.cpg) as events: threads become units, sub-computations blocks, waits become blocks
// with an edge from the sub-computation that ended the wait, and locks become lock events, which make them
// resources in the model and in `explain`.
//
// A sub-computation belongs to the trace of the request its thread worked for (Trace records), from the
// moment it did so; all others belong to the recording's own trace, whose root is "PROGRAM". Ids are computed
// from the recording alone, so a repeated import changes nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "recorder/reader/recording.h"

namespace wf::recording {

// Decides by a file's first bytes.
bool IsRecording(std::string_view content);

// The recording's own trace.
TraceId RecordingTraceId(const recorder::Recording& recording);

// Receives bodies in the binary form of events (docs/reference/events.md), of about a megabyte each.
using TakeEventsBody = std::function<Status(std::string body)>;
Status RecordingToEvents(const recorder::Recording& recording, const TakeEventsBody& take);

}  // namespace wf::recording
