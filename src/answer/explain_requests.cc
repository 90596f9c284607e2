// Requests → explanations: who shared resources with them is read, everything becomes one execution, each is asked
// about. The baseline asks the same of normal requests.
#include <algorithm>
#include <set>

#include "answer/explain_answer.h"

namespace wf {
namespace {

constexpr size_t kBaselineRequests = 200;
constexpr size_t kBaselineCandidates = 2'000;
constexpr size_t kBaselineAtOnce = 40;  // explained together: they share neighbours
constexpr Nanos kBaselineAround = kHour;

Result<SpanPlace> PlaceIn(const Trace& trace, const ExplainPlace& place, PlaceUse use) {
  const uint32_t root = trace.main_root();
  if (root == kNone) return NotFound("trace " + ToHex(trace.id) + ": holds no work to explain");
  SpanPlace found{trace.id, trace.blocks[root].id, place.side, use};
  if (!place.span) return found;
  for (const Block& block : trace.blocks) {
    if (block.id != place.span->value) continue;
    found.span = block.id;
    return found;
  }
  return NotFound("trace " + ToHex(trace.id) + ": no span " + ToHex(*place.span),
                  "wherefore trace " + ToHex(trace.id) + " --format json lists its spans");
}

Nanos TimeOf(const Trace& trace, const SpanPlace& place) {
  for (const Block& block : trace.blocks) {
    if (block.id == place.span)
      return place.side == SpanSide::kStart ? block.start_ns : block.end_ns;
  }
  return trace.start_ns;
}

Result<uint32_t> EventAt(const Execution& execution, const TraceExecution& made, size_t place,
                         const SpanPlace& asked, const ExplainQuestion& question) {
  const uint32_t index = made.places[place];
  const uint32_t event = index == UINT32_MAX ? kNoEvent : execution.Find(made.events[index].id);
  if (event != kNoEvent) return event;
  const std::string what = "trace " + ToHex(asked.trace) + ": span " + ToHex64(asked.span);
  if (index != UINT32_MAX && question.retain_from)
    return NotFound(what + " is older than --retain-from-ns", "retain from an earlier time");
  return NotFound(what + " does no work that could be explained",
                  "name a span that is neither the wait for a lock nor its holding");
}

}  // namespace

Result<ExplainedRequests> ExplainRequests(ExplainTraces& traces, const ExplainQuestion& asked,
                                          const std::vector<ExplainTarget>& targets) {
  TraceExecutionOptions options = asked.config;
  std::vector<ExplainWindow> windows;
  for (const ExplainTarget& target : targets) {
    const Trace* trace = traces.Find(target.trace);
    if (trace == nullptr) {
      return NotFound("trace " + ToHex(target.trace) + ": not in this store",
                      "wherefore traces lists what is there");
    }
    WF_ASSIGN(const SpanPlace from, PlaceIn(*trace, target.from, PlaceUse::kFrom));
    WF_ASSIGN(const SpanPlace to, PlaceIn(*trace, target.to, PlaceUse::kTo));
    windows.push_back({trace->id, TimeOf(*trace, from), TimeOf(*trace, to)});
    options.places.push_back(from);
    options.places.push_back(to);
  }
  WF_TRY(traces.ReadNeighbours(windows));
  options.least_one_way = traces.least_one_way();
  const auto all = traces.traces();
  TraceExecution made = MakeTraceExecution(all, options);

  ExplainedRequests out;
  ExecutionBuilder builder;
  if (asked.retain_from) builder.RetainFrom(*asked.retain_from);
  for (const ResourceServers& servers : made.servers) WF_TRY(builder.Add(servers));
  for (const ProvenanceEvent& event : made.events) WF_TRY(builder.Add(event));
  WF_ASSIGN(out.execution, builder.Finish());
  out.sources.resize(out.execution.size());
  for (size_t i = 0; i < made.events.size(); ++i) {
    const uint32_t event = out.execution.Find(made.events[i].id);
    if (event == kNoEvent) continue;
    const Trace& trace = *all[made.sources[i].trace];
    out.sources[event] = {trace.id, trace.blocks[made.sources[i].block].id};
  }
  for (size_t t = 0; t < targets.size(); ++t) {
    ExplainOptions explain;
    explain.view = asked.view;
    explain.what_if = asked.what_if;
    WF_ASSIGN(explain.from, EventAt(out.execution, made, 2 * t, options.places[2 * t], asked));
    WF_ASSIGN(explain.to,
              EventAt(out.execution, made, 2 * t + 1, options.places[2 * t + 1], asked));
    WF_ASSIGN(Explanation explanation, Explain(out.execution, explain));
    out.each.push_back(std::move(explanation));
  }
  out.assumed = std::move(made.assumed);
  out.loaded = traces.counts();
  return out;
}

namespace {

Nanos Median(std::vector<Nanos> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Result<ExplainBaseline> FindBaseline(const AnswerContext& context, const ExplainQuestion& asked,
                                     const std::string& service, const std::string& operation,
                                     const std::vector<ExplainTarget>& targets, Nanos about) {
  TraceQuery query;
  query.service = service;
  query.operation = operation;
  query.time = {SaturatingSub(about, kBaselineAround), SaturatingAdd(about, kBaselineAround)};
  query.limit = kBaselineCandidates;
  WF_ASSIGN(const SearchPage page, context.store.Search(context.tenant, query));
  std::vector<TraceSummary> alike;
  for (const TraceSummary& trace : page.traces) {
    if (trace.service == service && trace.name == operation) alike.push_back(trace);
  }
  ExplainBaseline baseline;
  std::vector<Nanos> durations;
  for (const TraceSummary& trace : alike) durations.push_back(trace.duration_ns);
  baseline.median_ns = Median(durations);
  std::vector<TraceId> normal;
  for (const TraceSummary& trace : alike) {
    const bool target = std::any_of(targets.begin(), targets.end(), [&](const ExplainTarget& t) {
      return t.trace == trace.trace_id;
    });
    if (target || trace.duration_ns > baseline.median_ns) continue;
    if (normal.size() < kBaselineRequests) normal.push_back(trace.trace_id);
  }
  ExplainQuestion plain = asked;
  plain.view = ExplanationView::kMerged;
  plain.what_if.clear();
  plain.retain_from.reset();  // what is normal may be older
  std::map<ExplanationKey, std::vector<Nanos>> times;
  for (size_t begin = 0; begin < normal.size(); begin += kBaselineAtOnce) {
    const size_t end = std::min(begin + kBaselineAtOnce, normal.size());
    ExplainTraces traces(context, plain.clock);
    WF_TRY(traces.Read({normal.begin() + static_cast<ptrdiff_t>(begin),
                        normal.begin() + static_cast<ptrdiff_t>(end)}));
    std::vector<ExplainTarget> some;
    for (size_t i = begin; i < end; ++i) {
      if (traces.Find(normal[i]) != nullptr)
        some.push_back({normal[i], {{}, SpanSide::kStart}, {{}, SpanSide::kEnd}});
    }
    WF_ASSIGN(const ExplainedRequests explained, ExplainRequests(traces, plain, some));
    for (const Explanation& one : explained.each) {
      ++baseline.requests;
      const auto keys = KeysOf(explained.execution, one);
      std::map<ExplanationKey, Nanos> sums;
      for (size_t v = 0; v < keys.size(); ++v) sums[keys[v]] += one.vertices[v].delay_ns;
      for (const auto& [key, delay] : sums) times[key].push_back(delay);
    }
  }
  for (auto& [key, seen] : times) {
    seen.resize(static_cast<size_t>(baseline.requests), 0);  // absent: 0
    baseline.median_of[key] = Median(seen);
  }
  return baseline;
}

}  // namespace wf
