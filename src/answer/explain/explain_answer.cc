#include "answer/explain/explain_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>

#include "answer/explain/explain_config.h"
#include "answer/explain/explain_dot.h"
#include "answer/explain/explain_graph.h"
#include "answer/explain/explain_json.h"
#include "answer/explain/explain_sentence.h"
#include "answer/explain/explain_svg.h"
#include "answer/explain/explain_text.h"
#include "answer/frame/text_table.h"
#include "answer/trace/traces_answer.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

constexpr int64_t kDefaultSlowest = 20;
// Search answers newest first: this many are looked at for the slowest.
constexpr size_t kSearchedForSlowest = 20'000;
constexpr size_t kSearchedAtOnce = 50;  // read
constexpr Nanos kDefaultSince = 15 * kMinute;

Result<ExplainQuestion> ParseQuestion(const Question& question) {
  const Params& params = question.params;
  ExplainQuestion asked;
  WF_ASSIGN(const bool raw, params.Switch("raw"));
  WF_ASSIGN(const bool pruned, params.Switch("no_aggregate"));
  if (raw && pruned)
    return BadInput("--raw and --no-aggregate exclude each other", "leave one out");
  if (raw) asked.view = provenance::ExplanationView::kRaw;
  if (pruned) asked.view = provenance::ExplanationView::kPruned;
  if (params.Get("clock") == "raw") asked.clock = ClockMode::kRaw;
  for (const std::string& text : params.All("what_if")) {
    if (text.empty()) continue;
    WF_ASSIGN(provenance::ExplainWhatIf change, provenance::ParseExplainWhatIf(text));
    asked.what_if.push_back(std::move(change));
  }
  WF_ASSIGN(asked.retain_from, params.Integer("retain_from_ns"));
  WF_ASSIGN(const auto retention, params.Duration("retain"));
  if (retention && asked.retain_from)
    return BadInput("--retain and --retain-from-ns exclude each other", "leave one out");
  asked.retention = retention.value_or(kDefaultRetention);
  if (!question.body.empty()) {
    WF_ASSIGN(asked.config, ReadExplainConfig(question.body, "resources"));
  }
  return asked;
}

// SPAN[:start|:end].
Result<ExplainPlace> ParsePlace(const Params& params, std::string_view flag,
                                provenance::SpanSide side) {
  ExplainPlace place{{}, side};
  const auto text = params.Get(flag);
  if (!text || text->empty()) return place;
  const size_t colon = text->find(':');
  if (colon != std::string::npos) {
    const std::string which = text->substr(colon + 1);
    if (which != "start" && which != "end") {
      return BadInput("--" + std::string(flag) + ": \"" + *text + "\": \"" + which +
                          "\" is neither start nor end",
                      "as in --" + std::string(flag) + " 00f067aa0ba902b7:end");
    }
    place.side = which == "start" ? provenance::SpanSide::kStart : provenance::SpanSide::kEnd;
  }
  auto id = ParseSpanId(std::string_view(*text).substr(0, colon));
  if (!id.ok())
    return BadInput("--" + std::string(flag) + ": " + id.error().message, id.error().hint);
  place.span = *id;
  return place;
}

// An explanation on its way out.
struct Shown {
  ExplainedRequests found;
  MergedExplanations shown;
  std::optional<ExplainBaseline> baseline;
  enum class Form : uint8_t { kOne, kSlowest } form = Form::kOne;
  bool stats = false;

  const provenance::Explanation& explanation() const { return shown.explanation; }
};

void WriteAssumed(const provenance::TraceAssumptions& assumed, JsonWriter& json) {
  json.Key("assumed").BeginObject().Key("arrivals").BeginObject();
  json.Field("recorded", assumed.arrivals_recorded)
      .Field("least_one_way", assumed.arrivals_estimated)
      .Field("span_start", assumed.arrivals_unknown)
      .EndObject();
  json.Key("resources").BeginArray();
  for (const provenance::AssumedResource& resource : assumed.resources) {
    json.BeginObject().Field("resource", resource.resource).Field("servers", resource.servers);
    json.Field("servers_by", provenance::ToldByName(resource.servers_by));
    if (resource.kind) {
      json.Field("kind", provenance::ServerKindName(*resource.kind));
      json.Field("kind_by", provenance::ToldByName(resource.kind_by));
    }
    json.EndObject();
  }
  json.EndArray()
      .Field("spans_moved", assumed.spans_moved)
      .Field("causes_dropped", assumed.causes_dropped)
      .Field("holds_dropped", assumed.holds_dropped)
      .EndObject();
}

void WriteLoaded(const ExplainedRequests& found, JsonWriter& json) {
  const ExplainLoadCounts& loaded = found.loaded;
  json.Key("loaded").BeginObject().Field("traces", loaded.traces).Field("spans", loaded.spans);
  json.Field("queries", loaded.queries)
      .Field("left_out_traces", loaded.left_out)
      .Field("stretches_cut", loaded.stretches_cut)
      .Field("waits_ignored", loaded.waits_ignored)
      .Field("left_out_queries", loaded.queries_left_out)
      .Field("traces_refused", found.traces_refused)
      .Field("retained_from_ns", found.retained_from)
      .Field("events_gone", found.events_gone)
      .EndObject();
}

void WriteSkipped(const std::vector<SkippedRequest>& skipped, JsonWriter& json) {
  json.Key("skipped").BeginArray();
  for (const SkippedRequest& one : skipped) {
    json.BeginObject().Field("trace_id", ToHex(one.trace));
    json.Field("reason", SkipReasonName(one.reason)).Field("message", one.error.message);
    json.EndObject();
  }
  json.EndArray();
}

// Whose work a vertex is: each trace and each span once, in the order of its members.
void WriteSources(const ExplainedRequests& found, const provenance::ExplanationVertex& vertex,
                  JsonWriter& json) {
  json.Key("trace_ids").BeginArray();
  std::set<TraceId> traces;
  for (const uint32_t e : vertex.members) {
    const TraceId& id = found.sources[e].first;
    if (traces.insert(id).second) json.String(ToHex(id));
  }
  json.EndArray().Key("span_ids").BeginArray();
  std::unordered_set<uint64_t> spans;
  for (const uint32_t e : vertex.members) {
    const uint64_t id = found.sources[e].second;
    if (spans.insert(id).second) json.String(ToHex64(id));
  }
  json.EndArray();
}

std::string ShownJson(const Shown& shown, provenance::ExplanationView view) {
  const auto& keys = shown.shown.keys;
  ExplanationJsonExtras extras;
  using Sizes = ExplanationJsonExtras::Sizes;
  extras.sizes = shown.stats ? Sizes::kShown : Sizes::kLeftOut;
  extras.vertex = [&](size_t v, JsonWriter& json) {
    WriteSources(shown.found, shown.explanation().vertices[v], json);
    if (shown.baseline) json.Field("baseline_ns", shown.baseline->Of(keys[v]));
  };
  extras.answer = [&](JsonWriter& json) {
    json.Field("sentence",
               ExplainSentence(NamedExplanation(shown.found.execution, shown.explanation())));
    if (shown.form == Shown::Form::kSlowest) {
      json.Key("requests").BeginArray();
      for (const ExplainTarget& target : shown.found.targets) json.String(ToHex(target.trace));
      json.EndArray();
      WriteSkipped(shown.found.skipped, json);
    }
    if (shown.baseline) {
      json.Key("baseline").BeginObject().Field("requests", shown.baseline->requests);
      json.Field("median_ns", shown.baseline->median_ns);
      json.Field("skipped", shown.baseline->skipped).EndObject();
    }
    WriteAssumed(shown.found.assumed, json);
    WriteLoaded(shown.found, json);
  };
  return ExplanationJson(shown.found.execution, shown.explanation(), view, extras);
}

std::string_view SkipReasonWords(SkipReason reason) {
  static constexpr std::string_view kWords[] = {"gone from the store", "without such a span",
                                                "older than what is retained",
                                                "without a causal path", "refused"};
  return kWords[static_cast<size_t>(reason)];
}

std::string SkippedNote(const std::vector<SkippedRequest>& skipped) {
  std::map<SkipReason, int64_t> counts;
  for (const SkippedRequest& one : skipped) ++counts[one.reason];
  std::string note = "skipped:";
  for (const auto& [reason, count] : counts)
    note += fmt::format("{} {} {}", note.back() == ':' ? "" : ",", count, SkipReasonWords(reason));
  return note;
}

// What a reader must know to trust the answer, in words.
std::vector<std::string> NotesOf(const Shown& shown) {
  std::vector<std::string> notes;
  const provenance::TraceAssumptions& assumed = shown.found.assumed;
  const ExplainLoadCounts& loaded = shown.found.loaded;
  if (shown.form == Shown::Form::kSlowest)
    notes.push_back("the " + CountOf(shown.found.targets.size(), "slowest request") + ", merged");
  if (!shown.found.skipped.empty()) notes.push_back(SkippedNote(shown.found.skipped));
  if (assumed.arrivals_estimated > 0) {
    notes.push_back(fmt::format(
        "{} of {} servers did not record when a request arrived; its arrival is taken as its send "
        "time plus the minimum transit time seen",
        assumed.arrivals_estimated, assumed.arrivals_estimated + assumed.arrivals_recorded));
  }
  int64_t guessed = 0;
  for (const provenance::AssumedResource& resource : assumed.resources)
    guessed += resource.kind && resource.servers_by == provenance::ToldBy::kConcurrency;
  if (guessed > 0) {
    notes.push_back(fmt::format("workers of {} process{} inferred from concurrency: no thread ids",
                                guessed, guessed == 1 ? "" : "es"));
  }
  if (loaded.left_out > 0 || loaded.stretches_cut > 0) {
    notes.push_back(fmt::format("left out: {} over the limit, {} cut short",
                                CountOf(loaded.left_out, "trace"),
                                CountOf(loaded.stretches_cut, "time range")));
  }
  if (loaded.queries_left_out > 0) {
    notes.push_back(CountOf(loaded.queries_left_out, "wait") + " not examined: too many");
  }
  if (shown.found.traces_refused > 0) {
    notes.push_back(CountOf(shown.found.traces_refused, "other trace") +
                    " left out: their events contradict each other");
  }
  const auto& vertices = shown.explanation().vertices;
  if (std::any_of(vertices.begin(), vertices.end(),
                  [](const provenance::ExplanationVertex& v) { return v.expired; }))
    notes.push_back(
        fmt::format("work that ended before {} is not considered; --retain 2h looks further back",
                    FormatInstant(shown.found.retained_from)));
  return notes;
}

ExplainGraph GraphOf(const Shown& shown, EventWords words) {
  ExplainGraph graph = NamedExplanation(shown.found.execution, shown.explanation(), words);
  if (shown.baseline) {
    const auto& keys = shown.shown.keys;
    for (size_t v = 0; v < keys.size(); ++v)
      graph.nodes[v].baseline_ns = shown.baseline->Of(keys[v]);
  }
  if (!shown.stats) graph.sizes.reset();
  graph.notes = NotesOf(shown);
  return graph;
}

Answer Show(const Question& question, const Shown& shown, provenance::ExplanationView view) {
  const auto format = question.params.Get("format");
  if (format == "text") return TextAnswer(ExplainText(GraphOf(shown, WordsOf(view))));
  if (format == "dot") return {"text/vnd.graphviz", ExplainDot(GraphOf(shown, WordsOf(view)))};
  if (format == "svg") return {"image/svg+xml", ExplainSvg(GraphOf(shown, WordsOf(view)))};
  if (format == "events") {
    return {"application/x-ndjson",
            provenance::ExtractEvents(shown.found.execution, shown.explanation().root,
                                      provenance::ExtractScope::kServersAlike)};
  }
  return JsonAnswer(ShownJson(shown, view));
}

Result<Answer> OneRequest(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  ExplainTarget target;
  WF_ASSIGN(target.trace, ParseTraceId(question.argument));
  WF_ASSIGN(target.from, ParsePlace(params, "from", provenance::SpanSide::kStart));
  WF_ASSIGN(target.to, ParsePlace(params, "to", provenance::SpanSide::kEnd));
  WF_ASSIGN(const ExplainQuestion asked, ParseQuestion(question));
  WF_ASSIGN(const bool baseline, params.Switch("baseline"));
  Shown shown;
  WF_ASSIGN(shown.stats, params.Switch("stats"));
  OneWaySamples one_way;
  ExplainTraces traces(context, asked.clock, one_way);
  WF_TRY(traces.Read({target.trace}));
  WF_ASSIGN(shown.found, ExplainRequests(traces, asked, {target}, BadTargets::kFail));
  shown.shown = MergeExplanations(shown.found.execution, shown.found.each);
  if (baseline) {
    WF_ASSIGN(shown.baseline, FindBaseline(context, asked, traces, {target}, one_way));
  }
  return Show(question, shown, asked.view);
}

// The slowest spans of a service and operation, slowest first.
Result<std::vector<ExplainTarget>> SlowestTargets(const AnswerContext& context,
                                                  const store::TraceQuery& query, size_t slowest,
                                                  ClockMode clock) {
  // Hundreds of thousands of spans, perhaps, that nobody needs once it is known which they are.
  OneWaySamples unused;
  ExplainTraces traces(context, clock, unused);
  std::vector<store::TraceSummary> found;
  store::TraceQuery next = query;
  next.limit = 1000;
  while (found.size() < kSearchedForSlowest) {
    WF_ASSIGN(store::SearchPage page, context.store.Search(context.tenant, next));
    found.insert(found.end(), page.traces.begin(), page.traces.end());
    if (!page.next) break;
    next.cursor = page.next;
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const store::TraceSummary& a, const store::TraceSummary& b) {
                     return a.duration_ns > b.duration_ns;
                   });
  struct Candidate {
    Nanos duration;
    ExplainTarget target;
  };
  std::vector<Candidate> candidates;
  std::vector<Nanos> durations;  // of the candidates
  // A trace is at least as long as what is asked about in it: the longest are read first, until no other can matter.
  for (size_t at = 0; at < found.size() && !traces.full(); at += kSearchedAtOnce) {
    std::sort(durations.begin(), durations.end(), std::greater<>());
    if (durations.size() >= slowest && durations[slowest - 1] >= found[at].duration_ns) break;
    std::vector<TraceId> ids;
    for (size_t i = at; i < std::min(at + kSearchedAtOnce, found.size()); ++i)
      ids.push_back(found[i].trace_id);
    WF_TRY(traces.Read(ids));
    for (const TraceId& id : ids) {
      const Trace* trace = traces.Find(id);
      if (trace == nullptr) continue;
      const Block* longest = nullptr;
      for (const Block& block : trace->blocks) {
        if (block.stand_in() || trace->service(block) != *query.service ||
            trace->str(block.name) != *query.operation)
          continue;
        if (longest == nullptr || block.duration() > longest->duration()) longest = &block;
      }
      if (longest == nullptr) continue;
      const SpanId span{longest->id};
      candidates.push_back(
          {longest->duration(),
           {id, {span, provenance::SpanSide::kStart}, {span, provenance::SpanSide::kEnd}}});
      durations.push_back(longest->duration());
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.duration > b.duration; });
  std::vector<ExplainTarget> targets;
  for (size_t i = 0; i < std::min(slowest, candidates.size()); ++i)
    targets.push_back(candidates[i].target);
  return targets;
}

Result<Answer> SlowestRequests(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  if (params.Get("format") == "events") {
    return BadInput("--extract, format=events: needs one request",
                    "wherefore explain ID --extract FILE");
  }
  for (const char* flag : {"from", "to"}) {
    if (params.Get(flag).value_or("").empty()) continue;
    return BadInput("--" + std::string(flag) + ": names a span, so it needs the id of one trace",
                    "wherefore explain ID --" + std::string(flag) + " " + *params.Get(flag));
  }
  store::TraceQuery query;
  query.service = params.Get("service");
  query.operation = params.Get("operation");
  if (query.service.value_or("").empty() || query.operation.value_or("").empty()) {
    return BadInput("explain: no trace id given, nor --service and --operation",
                    "wherefore explain ID, or explain --service S --operation O --since 15m");
  }
  WF_ASSIGN(const auto since, params.Instant("since", context.now));
  WF_ASSIGN(const auto until, params.Instant("until", context.now));
  query.time.from = since.value_or(SaturatingSub(context.now, kDefaultSince));
  if (until) query.time.until = *until;
  WF_ASSIGN(const auto slowest, params.Integer("slowest"));
  WF_ASSIGN(const ExplainQuestion asked, ParseQuestion(question));
  if (asked.view != provenance::ExplanationView::kMerged) {
    return BadInput("--raw, --no-aggregate: several requests are merged into one answer",
                    "give the id of one trace: wherefore explain ID --no-aggregate");
  }
  WF_ASSIGN(const bool baseline, params.Switch("baseline"));
  Shown shown;
  WF_ASSIGN(shown.stats, params.Switch("stats"));
  WF_ASSIGN(const std::vector<ExplainTarget> targets,
            SlowestTargets(context, query, static_cast<size_t>(slowest.value_or(kDefaultSlowest)),
                           asked.clock));
  if (targets.empty()) {
    return NotFound(
        "no request of " + *query.service + " named " + *query.operation + " in that time",
        "wherefore operations --service " + *query.service + " lists the names; " +
            "--since reaches further back");
  }
  std::vector<TraceId> ids;
  for (const ExplainTarget& target : targets) ids.push_back(target.trace);
  OneWaySamples one_way;
  ExplainTraces traces(context, asked.clock, one_way);
  WF_TRY(traces.Read(ids));
  shown.form = Shown::Form::kSlowest;
  WF_ASSIGN(shown.found, ExplainRequests(traces, asked, targets, BadTargets::kSkip));
  if (shown.found.each.empty()) {
    const Error& first = shown.found.skipped.front().error;
    return NotFound("none of the requests can be explained; " + SkippedNote(shown.found.skipped) +
                        "; the slowest: " + first.message,
                    first.hint);
  }
  shown.shown = MergeExplanations(shown.found.execution, shown.found.each);
  if (baseline) {
    WF_ASSIGN(shown.baseline, FindBaseline(context, asked, traces, shown.found.targets, one_way));
  }
  return Show(question, shown, asked.view);
}

}  // namespace

Result<Answer> AnswerExplain(const AnswerContext& context, const Question& question) {
  return question.argument.empty() ? SlowestRequests(context, question)
                                   : OneRequest(context, question);
}

}  // namespace wf::answer
