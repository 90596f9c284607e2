// Generated messages → message text (docs/reference/messages.md) and the truth: the request each request was caused by, as
// assignments without a probability.
//
// A line is written for each sighting that the sniffer did not lose: one by the common clock, or, when clocks
// differ, one by the sender's and one by the receiver's. Lines are in the order of their times. A request is
// identified by the number of the first line that shows it. A request whose cause was lost appears as a root.
#pragma once

#include "scenario/message_generator.h"

namespace wf::scenario {

// `truth` may be empty. Both are called alternately, while the trace is generated.
Result<GeneratedTrace> GenerateText(const GeneratorConfig& config, const GeneratorRequest& request,
                                    const TextSink& messages, const TextSink& truth);

}  // namespace wf::scenario
