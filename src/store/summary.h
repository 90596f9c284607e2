// The summary of a trace, rebuilt from its events on every answer.
//
// Roots are the spans without a parent, and one stand-in for each parent that is missing (named `missing`, of service
// `unknown`, covering its children). The main root: real before stand-in, then earliest start, longest, smallest id.
// A trace all of whose spans have a parent is cyclic and is cut above its earliest span. A trace of raw events only
// is summarized by its earliest event.
#pragma once

#include <cstddef>
#include <vector>

#include "model/event_batch.h"
#include "store/store.h"

namespace wf::store {

// Rows [begin, end) of one trace, distinct, in (start, id) order, at least one.
TraceSummary Summarize(const EventBatch& batch, size_t begin, size_t end);

// Where each trace of a batch grouped by trace begins, and the batch's end.
std::vector<size_t> TraceBounds(const EventBatch& batch);

}  // namespace wf::store
