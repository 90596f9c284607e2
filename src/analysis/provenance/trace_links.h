// Links between traces: a span that names one of another trace (a batch and the requests it serves, a message and who
// sent it) was caused by what that one had done when it began.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/provenance/event_drafts.h"
#include "analysis/provenance/trace_frames.h"
#include "analysis/provenance/trace_timeline.h"

namespace wf::provenance {

class TraceLinks {
 public:
  // `order`: in which the traces are gone through, so that the outcome does not depend on how they came.
  TraceLinks(const std::vector<TraceFrames>& frames, const std::vector<uint32_t>& order);

  // What the timeline of a trace must note for them; it fills in the drafts.
  TimelineNotes& NotesOf(uint32_t trace) { return notes_[trace]; }

  // Once all timelines are there: effects know their causes.
  void Join(std::vector<Draft>& drafts) const;

  // Links to what began after the span itself, which cannot be causes.
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
