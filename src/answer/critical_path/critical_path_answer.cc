// `critical-path [ID]`: loads the traces asked for, models them, walks them and shows the result.
#include "answer/critical_path/critical_path_answer.h"

#include <algorithm>
#include <numeric>

#include "answer/trace/clock_answer.h"
#include "answer/trace/traces_answer.h"
#include "model/trace_builder.h"

namespace wf::answer {
namespace {

// Traces are read a few at a time: memory stays bounded whatever the limit.
constexpr size_t kTracesAtOnce = 64;
constexpr size_t kDefaultPopulation = 1000;

Result<PathQuestion> ParsePathQuestion(const Params& params) {
  PathQuestion question;
  if (params.Get("clock") == "raw") question.clock = ClockMode::kRaw;
  if (const auto text = params.Get("overlap_tolerance")) {
    const auto tolerance = *text == "0" ? Result<Nanos>(0) : ParseDuration(*text);
    if (!tolerance.ok() || (*tolerance != 0 && *tolerance != kMilli)) {
      return BadInput("--overlap-tolerance: \"" + *text + "\" is neither 0 nor 1ms",
                      "0 turns it off; 1ms, the default, takes small overlaps for succession");
    }
    if (*tolerance == 0) question.overlap = critical_path::OverlapTolerance::kOff;
  }
  for (const std::string& text : params.All("what_if")) {
    if (text.empty()) continue;
    WF_ASSIGN(critical_path::WhatIf change, critical_path::ParseWhatIf(text));
    question.what_if.push_back(std::move(change));
  }
  return question;
}

enum class Side { kStart, kEnd };

// SPAN[:start|:end].
Result<std::optional<critical_path::PathPlace>> ParsePlace(const Params& params,
                                                           std::string_view flag, Side side,
                                                           const Trace& trace) {
  const auto text = params.Get(flag);
  if (!text || text->empty()) return std::optional<critical_path::PathPlace>();
  const size_t colon = text->find(':');
  const std::string which = colon == std::string::npos ? "" : text->substr(colon + 1);
  if (colon != std::string::npos && which != "start" && which != "end") {
    return BadInput("--" + std::string(flag) + ": \"" + *text + "\": \"" + which +
                        "\" is neither start nor end",
                    "as in --" + std::string(flag) + " 00f067aa0ba902b7:end");
  }
  if (which == "start") side = Side::kStart;
  if (which == "end") side = Side::kEnd;
  auto id = ParseSpanId(std::string_view(*text).substr(0, colon));
  if (!id.ok()) {
    return BadInput("--" + std::string(flag) + ": " + id.error().message, id.error().hint);
  }
  for (uint32_t b = 0; b < trace.blocks.size(); ++b) {
    const Block& block = trace.blocks[b];
    if (block.id == id->value)
      return std::optional<critical_path::PathPlace>(
          {b, side == Side::kStart ? block.start_ns : block.end_ns});
  }
  return NotFound("trace " + ToHex(trace.id) + ": no span " + ToHex(*id),
                  "wherefore trace " + ToHex(trace.id) + " --format json lists its spans");
}

std::optional<critical_path::WhatIfAnswer> AskWhatIf(
    const Trace& trace, const critical_path::CriticalPathOptions& options,
    const PathQuestion& asked) {
  if (asked.what_if.empty()) return std::nullopt;
  return critical_path::Replay(trace, options, asked.what_if);
}

Result<Answer> OneTrace(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  WF_ASSIGN(const TraceId id, ParseTraceId(question.argument));
  WF_ASSIGN(const PathQuestion asked, ParsePathQuestion(params));
  WF_ASSIGN(const EventBatch events, context.store.ReadTrace(context.tenant, id));
  if (events.empty()) {
    return NotFound("trace " + ToHex(id) + ": not in this store",
                    "wherefore traces lists what is there");
  }
  WF_ASSIGN(const HostClocks clocks, pipeline::ClocksFor(context.store, context.tenant, events));
  BuildOptions build;
  build.clock = asked.clock;
  build.now_ns = context.now;
  build.clocks = &clocks;
  const Trace trace = BuildTrace(events, build);
  critical_path::CriticalPathOptions options;
  options.overlap = asked.overlap;
  WF_ASSIGN(options.from, ParsePlace(params, "from", Side::kStart, trace));
  WF_ASSIGN(options.to, ParsePlace(params, "to", Side::kEnd, trace));
  WF_ASSIGN(const critical_path::CriticalPath path,
            critical_path::FindCriticalPath(trace, options));
  const auto what_if = AskWhatIf(trace, options, asked);
  if (WantsText(question)) return TextAnswer(CriticalPathText(trace, path, what_if));
  return JsonAnswer(CriticalPathJson(trace, path, what_if));
}

// Rows of each trace of a batch that holds several.
std::map<TraceId, std::vector<uint32_t>> RowsByTrace(const EventBatch& events) {
  std::map<TraceId, std::vector<uint32_t>> rows;
  for (uint32_t row = 0; row < events.size(); ++row) rows[events.trace_id(row)].push_back(row);
  return rows;
}

Status AddTraces(const AnswerContext& context, const PathQuestion& asked,
                 const std::vector<TraceId>& ids, PathPopulation& population) {
  WF_ASSIGN(const EventBatch events, context.store.ReadTraces(context.tenant, ids));
  WF_ASSIGN(const HostClocks clocks, pipeline::ClocksFor(context.store, context.tenant, events));
  BuildOptions build;
  build.clock = asked.clock;
  build.now_ns = context.now;
  build.clocks = &clocks;
  auto rows = RowsByTrace(events);
  for (const TraceId& id : ids) {
    const auto at = rows.find(id);
    if (at == rows.end()) continue;  // retired in between
    const Trace trace = BuildTrace(events, std::move(at->second), build);
    critical_path::CriticalPathOptions options;
    options.overlap = asked.overlap;
    const auto path = critical_path::FindCriticalPath(trace, options);
    if (!path.ok() || !trace.usable())
      population.Skip();
    else
      population.Add(trace, *path, AskWhatIf(trace, options, asked));
  }
  return {};
}

Result<Answer> Population(const AnswerContext& context, const Question& question) {
  Params search;
  for (const auto& [name, value] : question.params.values()) {
    if (name == "from" || name == "to") {
      return BadInput("--" + name + ": names a span, so it needs the id of one trace",
                      "wherefore critical-path ID --" + name + " " + value);
    }
    if (name != "overlap_tolerance" && name != "clock" && name != "what_if")
      search.Add(name, value);
  }
  WF_ASSIGN(const PathQuestion asked, ParsePathQuestion(question.params));
  WF_ASSIGN(store::TraceQuery query, ParseTraceQuery(search, context.now));
  if (!search.Get("limit")) query.limit = kDefaultPopulation;
  WF_ASSIGN(const store::SearchPage page, context.store.Search(context.tenant, query));
  PathPopulation population;
  for (size_t begin = 0; begin < page.traces.size(); begin += kTracesAtOnce) {
    std::vector<TraceId> ids;
    for (size_t i = begin; i < std::min(begin + kTracesAtOnce, page.traces.size()); ++i)
      ids.push_back(page.traces[i].trace_id);
    WF_TRY(AddTraces(context, asked, ids, population));
  }
  return WantsText(question) ? TextAnswer(population.Text(page.next))
                             : JsonAnswer(population.Json(page.next));
}

}  // namespace

std::vector<ShownSegment> ShownSegments(const critical_path::CriticalPath& path) {
  std::vector<ShownSegment> shown;
  for (const critical_path::PathSegment& segment : path.segments) {
    if (shown.empty() || shown.back().block != segment.block ||
        shown.back().category != segment.category) {
      shown.push_back({segment.block, segment.category, segment.start_ns, segment.end_ns, {}});
    }
    ShownSegment& last = shown.back();
    last.end_ns = segment.end_ns;
    last.alternatives.insert(last.alternatives.end(),
                             path.alternatives.begin() + segment.alternatives_begin,
                             path.alternatives.begin() + segment.alternatives_end);
    std::sort(last.alternatives.begin(), last.alternatives.end());
    last.alternatives.erase(std::unique(last.alternatives.begin(), last.alternatives.end()),
                            last.alternatives.end());
  }
  return shown;
}

Result<Answer> AnswerCriticalPath(const AnswerContext& context, const Question& question) {
  return question.argument.empty() ? Population(context, question) : OneTrace(context, question);
}

}  // namespace wf::answer
