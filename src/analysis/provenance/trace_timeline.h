// A trace's timeline: its frames → drafts of events with their causes; holds of resources are added later.
#pragma once

#include <map>
#include <vector>

#include "analysis/provenance/event_drafts.h"
#include "analysis/provenance/trace_frames.h"

namespace wf::provenance {

// Where an event must begin or end; `draft` receives the index of its draft.
struct TimelinePlace {
  uint32_t block = kNone;
  SpanSide side = SpanSide::kStart;
  PlaceUse use = PlaceUse::kFrom;
  uint32_t draft = UINT32_MAX;
};

// What a block had done by a time; `drafts` receives the drafts that cause something new at that time.
struct TimelineTap {
  uint32_t block = kNone;
  Nanos time = 0;
  std::vector<uint32_t> drafts;
};

struct TimelineNotes {
  std::vector<TimelinePlace> places;
  std::vector<TimelineTap> taps;
};

void AppendTimeline(const TraceFrames& frames, uint32_t trace_index, TimelineNotes& notes,
                    std::vector<Draft>& drafts);

}  // namespace wf::provenance
