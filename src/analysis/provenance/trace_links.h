// Links between traces: a span that names one of another trace (a batch and the requests it serves, a message
// and its sender) was caused by what that one had done by the time it began.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/provenance/event_drafts.h"
#include "analysis/provenance/trace_frames.h"
#include "analysis/provenance/trace_timeline.h"

namespace wf::provenance {

class TraceLinks {
 public:
  // `order`: the order in which traces are processed, so that the result does not depend on the order of
  // input.
  TraceLinks(const std::vector<TraceFrames>& frames, const std::vector<uint32_t>& order);

  // What the timeline of a trace must record for the links; it fills in the drafts.
  TimelineNotes& NotesOf(uint32_t trace) { return notes_[trace]; }

  // Call when all timelines are built: adds the causes to the effects.
  void Join(std::vector<Draft>& drafts) const;

  // Links to spans that began after the linking span, which cannot be causes.
  int64_t dropped() const { return dropped_; }

 private:
  struct Link {
    uint32_t from_trace, tap, to_trace, place;
  };
  std::vector<TimelineNotes> notes_;  // by trace
  std::vector<Link> links_;
  int64_t dropped_ = 0;
};

}  // namespace wf::provenance
