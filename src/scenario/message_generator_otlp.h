// Generated messages → OTLP JSON lines: what instrumentation of the same system would have sent. A call is a client span,
// by the caller's clock, and in it a server span, by the callee's; what the callee calls is in its server span. A path is
// a trace.
#pragma once

#include "scenario/message_generator.h"

namespace wf::scenario {

// Rejects what spans cannot express: loss in a sniffer, one-way messages. A call that never returns has no
// span.
Result<GeneratedTrace> GenerateOtlp(const GeneratorConfig& config, const GeneratorRequest& request,
                                    const TextSink& lines, const TextSink& truth);

}  // namespace wf::scenario
