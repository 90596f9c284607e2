// `wherefore trace ID` and GET /api/v1/trace/ID: a modeled trace as JSON (api/: "Trace"), as the compact columns the
// UI's waterfall reads, and as a waterfall for terminals. Server and command line both call these, so their answers
// are equal byte for byte.
#pragma once

#include <optional>
#include <string>

#include "answer/frame/answer.h"
#include "answer/frame/text_style.h"
#include "model/trace.h"

namespace wf::answer {

Result<Answer> AnswerTrace(const AnswerContext& context, const Question& question);

enum class TraceView { kFull, kWaterfall, kStacks };

struct TraceJsonOptions {
  TraceView view = TraceView::kFull;
  // Only this block, its unit and points, the edges that touch it and its repairs (full view).
  std::optional<SpanId> span;
};

// kNotFound when the span asked for is not in the trace.
Result<std::string> TraceJson(const Trace& trace, const TraceJsonOptions& options = {});

struct TraceTextOptions {
  int width = 100;        // columns
  size_t max_rows = 200;  // longer traces are cut in the middle; 0: never
  TextColor color = TextColor::kPlain;
};
std::string TraceText(const Trace& trace, const TraceTextOptions& options = {});

// "complete", or what is missing and whether it may still come, in words.
std::string CompletenessSentence(const Trace& trace);

}  // namespace wf::answer
