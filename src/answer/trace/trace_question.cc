// `trace ID`: loads the events of one trace, models them and shows the result: JSON, columns for the web UI, or the
// waterfall on a terminal.
#include "answer/frame/text_style.h"
#include "answer/trace/clock_answer.h"
#include "answer/trace/trace_answer.h"
#include "model/trace_builder.h"

namespace wf::answer {

Result<Answer> AnswerTrace(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  WF_ASSIGN(const TraceId id, ParseTraceId(question.argument));
  const auto clock = params.Get("clock"), view = params.Get("view");
  TraceJsonOptions json;
  json.view = view == "waterfall" ? TraceView::kWaterfall
              : view == "stacks"  ? TraceView::kStacks
                                  : TraceView::kFull;
  if (const auto span = params.Get("span")) {
    WF_ASSIGN(json.span, ParseSpanId(*span));
    if (WantsText(question) || json.view != TraceView::kFull) {
      return BadInput("--span: only the full JSON shows one block",
                      "add --format json, without --view");
    }
  }
  WF_ASSIGN(const EventBatch events, context.store.ReadTrace(context.tenant, id));
  if (events.empty()) {
    return NotFound("trace " + ToHex(id) + ": not in this store",
                    "wherefore traces lists what is there");
  }
  BuildOptions build;
  build.clock = clock == "raw" ? ClockMode::kRaw : ClockMode::kAligned;
  build.now_ns = context.now;
  WF_ASSIGN(const HostClocks clocks, pipeline::ClocksFor(context.store, context.tenant, events));
  build.clocks = &clocks;
  const Trace trace = BuildTrace(events, build);
  if (WantsText(question)) {
    TraceTextOptions text;
    text.width = static_cast<int>(TextWidth());
    text.color = CurrentTextStyle().color;
    return TextAnswer(TraceText(trace, text));
  }
  WF_ASSIGN(std::string body, TraceJson(trace, json));
  return JsonAnswer(std::move(body));
}

}  // namespace wf::answer
