// A trace's timeline: its frames → drafts of events with their causes; holds of resources come later.
#pragma once

#include <map>
#include <vector>

#include "analysis/provenance/event_drafts.h"
#include "analysis/provenance/trace_frames.h"

namespace wf {

// Where an event must begin or end: answered by the index of its draft.
struct TimelinePlace {
  uint32_t block = kNone;
  SpanSide side = SpanSide::kStart;
  PlaceUse use = PlaceUse::kFrom;
  uint32_t draft = UINT32_MAX;
};

void AppendTimeline(const TraceFrames& frames, uint32_t trace_index,
                    std::vector<TimelinePlace>& places, std::vector<Draft>& drafts);

}  // namespace wf
