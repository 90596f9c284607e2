// A recorded program (.cpg) as events: threads become units, sub-computations blocks, what they waited for blocks with
// an edge from whoever let them go on, locks lock events, by which the model and `explain` know them as resources.
//
// A sub-computation belongs to the trace of the request its thread worked for (Trace records), from the moment it did so;
// all others belong to the recording's own trace, whose root is "PROGRAM". Ids follow from the recording alone, so
// importing it again changes nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "recorder/reader/recording.h"

namespace wf::recording {

// By a file's first bytes.
bool IsRecording(std::string_view content);

// The recording's own trace.
TraceId RecordingTraceId(const recorder::Recording& recording);

// Hands on bodies in the binary form of events (docs/reference/events.md), of about a megabyte each.
using TakeEventsBody = std::function<Status(std::string body)>;
Status RecordingToEvents(const recorder::Recording& recording, const TakeEventsBody& take);

}  // namespace wf::recording
