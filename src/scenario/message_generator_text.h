// Generated messages → message text (docs/reference/messages.md) and the truth: the request each request was caused by, as
// assignments without a probability.
//
// A line is written for each sighting that the sniffer did not lose: one by the common clock, or, when clocks differ,
// one by the sender's and one by the receiver's. Lines stand in the order of the times they show. A request is called by
// the number of the first line that shows it. One whose cause was lost is a root as far as anybody can see.
#pragma once

#include "scenario/message_generator.h"

namespace wf::scenario {

// `truth` may be empty. Both are called alternately, while the trace is generated.
Result<GeneratedTrace> GenerateText(const GeneratorConfig& config, const GeneratorRequest& request,
                                    const TextSink& messages, const TextSink& truth);

}  // namespace wf::scenario
