// What instrumentation of browser, web server and storage would have recorded for one page load.
//
// Units: Client (the browser's main thread), Web (the request on its web host), WebWorker (the background piece),
// Storage (one query each). Blocks carry label `tier` (browser, network, server, database) and, where one is at work,
// `piece`; resources are edges of type `resource` with labels `resource` (css, js, img), `piece`, `flush` (early,
// next) and `used` (by the initial display), and counter `bytes`. The point with label marker=display_done ends the
// initial display, and with it the block "load page", the trace's main root; marker=piece_done ends each piece,
// marker=phase_done each phase.
#pragma once

#include "scenario/page_load.h"
#include "scenario/trace_events.h"

namespace wf::scenario {

void RecordPageLoad(const PageSite& site, const PageLoad& load, TraceEvents& events);

}  // namespace wf::scenario
