#include "live/live_queries.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <set>
#include <utility>

#include "answer/frame/answer.h"
#include "base/base64.h"
#include "base/ids.h"
#include "json/json_reader.h"
#include "lang/common/suggestion.h"
#include "lang/query/parser.h"
#include "live/blind_joins.h"
#include "live/query_dataset.h"
#include "live/query_output.h"
#include "live/running_query.h"
#include "live/tracepoint_registry.h"
#include "log/log.h"

namespace wf::live {
namespace {

constexpr char kKind[] = "live_query";  // kind of document
constexpr size_t kMostRunning = 1'000;
constexpr size_t kMostStreams = 200;  // of all queries: each holds a connection
// How much of a query's past a new listener gets.
constexpr size_t kHistoryIntervals = 600;
constexpr size_t kHistoryBytes = 1 << 20;
// Sent between intervals that are far apart, so that proxies keep the connection open.
constexpr Nanos kKeepAlive = 10 * kSecond;
constexpr Nanos kKeepCost = kMinute;
constexpr Nanos kRememberEnded = kMinute;
constexpr size_t kMostRowsToStore = 1'000;  // intervals
constexpr size_t kMostNotes = 50;

Result<uint64_t> RandomId() {
  uint64_t id = 0;
  while (id == 0) {
    if (::getrandom(&id, sizeof id, 0) != sizeof id)
      return EnvironmentError("a query's id: getrandom failed");
  }
  return id;
}

std::string Event(std::string_view name, std::string_view data, std::optional<Nanos> id = {}) {
  std::string text;
  if (id) text += fmt::format("id: {}\n", *id);
  return text + fmt::format("event: {}\ndata: {}\n\n", name, data);
}

std::string NoteEvent(const std::string& text) {
  JsonWriter json;
  json.BeginObject().Field("text", text).EndObject();
  return Event("note", json.Take());
}

std::string UnknownTracepoint(const std::string& name) {
  return fmt::format("tracepoint \"{}\": neither defined nor compiled into a connected process",
                     name);
}

std::string NearTracepoint(const std::string& name, const std::vector<std::string>& known) {
  const std::string meant = lang::DidYouMean(name, known);
  return meant.empty() ? "wherefore tracepoints list shows them" : meant;
}

// Each at its position in the text, including sub-queries.
void FindUnknown(const query::Query& query, const std::vector<std::string>& known,
                 std::vector<lang::Diagnostic>& out) {
  for (const query::Alias& alias : query.aliases) {
    if (alias.source.subquery != nullptr) FindUnknown(*alias.source.subquery, known, out);
    for (const std::string& name : alias.source.tracepoints) {
      if (std::find(known.begin(), known.end(), name) == known.end())
        out.push_back(
            query::At(alias.source.place, UnknownTracepoint(name), NearTracepoint(name, known)));
    }
  }
}

uint64_t Count(JsonValue object, const char* key) {
  return object.Get(key).UintOrText().value_or(0);
}

}  // namespace

LiveQueries::LiveQueries(LiveQueriesContext context)
    : context_(std::move(context)),
      ticker_([this] { Tick(); }),
      evaluator_([this] { EvaluateLoop(); }) {}

LiveQueries::~LiveQueries() {
  Stop();
  ticker_.join();
}

Result<std::vector<std::string>> LiveQueries::KnownTracepoints(const std::string& tenant) {
  WF_ASSIGN(const auto defined, ReadTracepoints(context_.store, tenant));
  WF_ASSIGN(const auto compiled_in, context_.processes.Tracepoints(tenant));
  std::vector<std::string> known;
  for (const auto& one : defined) known.push_back(one.name);
  for (const auto& one : compiled_in) known.push_back(one.name);
  return known;
}

std::vector<std::string> LiveQueries::TellBlindJoins(const std::string& tenant,
                                                     const advice::Program& program) {
  const auto defined = ReadTracepoints(context_.store, tenant);
  const auto linked = context_.processes.Tracepoints(tenant);
  if (!defined.ok() || !linked.ok()) return {};  // they were read a moment ago
  std::set<std::string> woven, compiled_in;
  for (const auto& one : *defined) woven.insert(one.name);
  for (const auto& one : *linked) compiled_in.insert(one.name);
  return BlindJoins(program, woven, compiled_in);
}

Result<std::shared_ptr<const advice::Program>> LiveQueries::Compile(const std::string& tenant,
                                                                    const LiveQuerySpec& spec,
                                                                    uint64_t id) {
  WF_ASSIGN(auto program, context_.compile(spec, id));
  WF_ASSIGN(const auto known, KnownTracepoints(tenant));
  for (const std::string& name : TracepointsOf(*program)) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return BadInput(UnknownTracepoint(name), NearTracepoint(name, known));
  }
  return program;
}

Status LiveQueries::Load(const std::string& tenant) {
  WF_ASSIGN(const auto documents, context_.store.ReadDocuments(tenant, kKind));
  for (const store::Document& document : documents) {
    JsonParser parser;
    const auto start = [&]() -> Status {
      WF_ASSIGN(const JsonValue json, parser.Parse(document.text));
      WF_ASSIGN(const SpanId id, ParseSpanId(document.name));
      LiveQuerySpec spec;
      spec.text = json.Get("query").String();
      spec.name = json.Get("name").String();
      spec.standing = true;
      spec.interval = json.Get("interval_ms").Int().value_or(1000) * kMilli;
      spec.max_tuples = static_cast<uint32_t>(json.Get("max_tuples").Int().value_or(256));
      spec.max_bytes = static_cast<uint32_t>(json.Get("max_bytes").Int().value_or(3000));
      spec.dataset = json.Get("dataset").String();
      if (!spec.dataset.empty())
        // An older version may not have recorded the dataset.
        WF_TRY(KeepQueryDataset(context_.store, tenant, spec.dataset));
      WF_ASSIGN(auto program, context_.compile(spec, id.value));
      const auto query = std::make_shared<Running>(tenant, spec, std::move(program), Now());
      query->since = json.Get("since_ns").Int().value_or(query->since);
      const JsonValue cost = json.Get("cost");
      query->cost = {Count(cost, "hits"),
                     Count(cost, "tuples"),
                     Count(cost, "bytes"),
                     Count(cost, "advice_ns"),
                     Count(cost, "lost"),
                     Count(cost, "overflowed"),
                     Count(cost, "packed_tuples_max"),
                     Count(cost, "baggage_bytes_max"),
                     Count(cost, "reports")};
      query->kept_cost = query->cost;
      if (json.Get("plan").String() == ToString(LivePlan::kEmit)) {
        query->plan = LivePlan::kEmit;
        query->emit_plan = Running::EmitPlan::kDecided;
      }
      const std::lock_guard lock(mutex_);
      running_.emplace(id.value, query);
      return {};
    };
    if (const Status started = start(); !started.ok())
      log::Error("standing query {}: {}", document.name, started.error().message);
  }
  if (documents.empty()) return {};
  const uint64_t generation = context_.changed(tenant);
  const std::lock_guard lock(mutex_);
  for (const auto& [id, query] : running_) query->generation = generation;
  wake_.notify_all();
  return {};
}

Status LiveQueries::Keep(const Running& query) {
  JsonWriter json;
  json.BeginObject();
  {
    const std::lock_guard lock(mutex_);
    WriteLiveQuerySpec(query.spec, json);
    json.Field("since_ns", query.since);
    json.Field("plan", ToString(query.plan));
    WriteLiveQueryCost(query.cost, json.Key("cost"));
  }
  json.EndObject();
  return context_.store.PutDocument(query.tenant, kKind, query.id, json.Take());
}

Result<std::string> LiveQueries::Start(const std::string& tenant, std::string_view json) {
  WF_ASSIGN(LiveQuerySpec spec, ReadLiveQuerySpec(json));
  if (!spec.dataset.empty()) {
    WF_TRY(CheckQueryDataset(context_.store, tenant, spec.dataset));
    WF_TRY(KeepQueryDataset(context_.store, tenant, spec.dataset));
  }
  WF_ASSIGN(const uint64_t id, RandomId());
  WF_ASSIGN(auto program, Compile(tenant, spec, id));
  const auto query = std::make_shared<Running>(tenant, std::move(spec), std::move(program), Now());
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Overloaded("the server is stopping", "try again when it is back");
    for (const auto& [number, other] : running_) {
      if (other->tenant == tenant && !query->spec.name.empty() &&
          other->spec.name == query->spec.name)
        return BadInput(
            fmt::format("query \"{}\": a query of this name is already running", other->spec.name),
            "choose another name, or remove it: wherefore query --remove " + other->id);
    }
    if (running_.size() >= kMostRunning)
      return Overloaded(fmt::format("{} queries are already running", running_.size()),
                        "wherefore query --list shows them; remove one");
    running_.emplace(id, query);
  }
  if (query->spec.standing) {
    if (const Status kept = Keep(*query); !kept.ok()) {
      const std::lock_guard lock(mutex_);
      running_.erase(id);
      return kept.error();
    }
  }
  const std::vector<std::string> blind = TellBlindJoins(tenant, *query->program);
  const uint64_t generation = context_.changed(tenant);
  context_.counters.Add("live_queries_started", 1);
  const std::lock_guard lock(mutex_);
  for (const std::string& note : blind) TakeNote(tenant, id, note);
  query->generation = generation;
  wake_.notify_all();
  JsonWriter out;
  Write(*query, out);
  return out.Take() + "\n";
}

Result<std::string> LiveQueries::Check(const std::string& tenant, std::string_view json) {
  WF_ASSIGN(const LiveQuerySpec spec, ReadLiveQuerySpec(json));
  WF_ASSIGN(const auto known, KnownTracepoints(tenant));
  query::Parsed parsed = query::Parse(spec.text);
  std::vector<std::string> columns, tracepoints;
  if (parsed.query != nullptr) {
    columns = query::ColumnNames(*parsed.query);
    tracepoints = query::Tracepoints(*parsed.query);
    FindUnknown(*parsed.query, known, parsed.diagnostics);
    if (const auto program = context_.compile(spec, 1); !program.ok())
      parsed.diagnostics.push_back({1, 1, 1, program.error().message, program.error().hint});
  }
  JsonWriter out;
  out.BeginObject().Key("columns").BeginArray();
  for (const std::string& column : columns) out.String(column);
  out.EndArray().Key("tracepoints").BeginArray();
  for (const std::string& name : tracepoints) out.String(name);
  out.EndArray().Key("diagnostics").BeginArray();
  for (const lang::Diagnostic& one : parsed.diagnostics) {
    out.BeginObject()
        .Field("line", one.line)
        .Field("column", one.column)
        .Field("length", one.length)
        .Field("message", one.message)
        .Field("hint", one.hint)
        .EndObject();
  }
  out.EndArray().EndObject();
  return out.Take() + "\n";
}

void LiveQueries::Write(const Running& query, JsonWriter& json) {
  json.BeginObject().Field("id", query.id);
  WriteLiveQuerySpec(query.spec, json);
  json.Field("since_ns", query.since);
  json.Field("state", query.state == Running::State::kRunning ? "running" : "ending");
  json.Field("plan", ToString(query.plan));
  json.Key("columns").BeginArray();
  for (const std::string& column : query.program->result_columns) json.String(column);
  json.EndArray().Key("tracepoints").BeginArray();
  for (const std::string& name : query.tracepoints) json.String(name);
  json.EndArray();
  const auto reach =
      context_.processes.Reached(query.tenant, std::max<uint64_t>(1, query.generation));
  json.Key("processes")
      .BeginObject()
      .Field("told", reach.reached)
      .Field("known", reach.known)
      .EndObject();
  json.Field("listeners", static_cast<int64_t>(query.streams.size()));
  json.Key("notes").BeginArray();
  for (const std::string& note : query.notes) json.String(note);
  json.EndArray();
  WriteLiveQueryCost(query.cost, json.Key("cost"));
  json.EndObject();
}

std::string LiveQueries::List(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  std::vector<const Running*> all;
  for (const auto& [id, query] : running_)
    if (query->tenant == tenant) all.push_back(query.get());
  std::sort(all.begin(), all.end(), [](const Running* a, const Running* b) {
    return std::pair(a->since, a->id) < std::pair(b->since, b->id);
  });
  JsonWriter json;
  json.BeginObject().Key("queries").BeginArray();
  for (const Running* query : all) Write(*query, json);
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

// Finds a query by id, or by name if only one has that name.
LiveQueries::Shared LiveQueries::Find(const std::string& tenant, const std::string& id) const {
  Shared named;
  for (const auto& [number, query] : running_) {
    if (query->tenant != tenant) continue;
    if (query->id == id) return query;
    if (query->spec.name != id || id.empty()) continue;
    if (named != nullptr) return nullptr;
    named = query;
  }
  return named;
}

namespace {

Error NoQuery(const std::string& id) {
  return NotFound("query \"" + id.substr(0, 100) + "\": no running query has this id or name",
                  "wherefore query --list shows them");
}

}  // namespace

Result<std::string> LiveQueries::Show(const std::string& tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const Shared query = Find(tenant, id);
  if (query == nullptr) return NoQuery(id);
  JsonWriter json;
  Write(*query, json);
  return json.Take() + "\n";
}

std::vector<std::string> LiveQueries::Users(const std::string& tenant,
                                            const std::string& tracepoint) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [number, query] : running_) {
    const auto& names = query->tracepoints;
    if (query->tenant == tenant && query->state == Running::State::kRunning &&
        std::find(names.begin(), names.end(), tracepoint) != names.end())
      ids.push_back(query->id);
  }
  return ids;
}

Result<std::string> LiveQueries::Remove(const std::string& tenant, const std::string& id) {
  Shared query;
  {
    const std::lock_guard lock(mutex_);
    query = Find(tenant, id);
  }
  if (query == nullptr) return NoQuery(id);
  if (query->spec.standing) {
    const Status gone = context_.store.DeleteDocument(tenant, kKind, query->id);
    if (!gone.ok() && gone.error().code != ErrorCode::kNotFound) return gone.error();
  }
  EndSoon(query, "removed");
  JsonWriter json;
  json.BeginObject().Field("removed", query->id).EndObject();
  return json.Take() + "\n";
}

// From now on processes do not get the query. Results since their last report are awaited: until all
// processes have said that they reported them; for an interval after all have removed the query; for some
// intervals if one does not respond.
void LiveQueries::EndSoon(const Shared& query, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (query->state != Running::State::kRunning) return;
    query->state = Running::State::kEnding;
    query->end_reason = reason;
    query->end_by = Now() + 2 * query->intervals.grace() + query->spec.interval;
  }
  const uint64_t generation = context_.changed(query->tenant);
  context_.counters.Add("live_queries_ended", 1);
  const std::lock_guard lock(mutex_);
  query->end_generation = generation;
  wake_.notify_all();
}

Result<std::shared_ptr<net::HttpBodyStream>> LiveQueries::Listen(const std::string& tenant,
                                                                 const std::string& id,
                                                                 std::optional<Nanos> after_ns) {
  std::shared_ptr<net::HttpBodyStream> stream;
  std::weak_ptr<Running> weak;
  {
    const std::lock_guard lock(mutex_);
    const Shared query = Find(tenant, id);
    if (query == nullptr || query->state == Running::State::kEnded || stopping_) return NoQuery(id);
    size_t all = 0;
    for (const auto& [number, one] : running_) all += one->streams.size();
    if (all >= kMostStreams)
      return Overloaded(fmt::format("{} clients already listen to queries", all),
                        "close one of them");
    stream = std::make_shared<net::HttpBodyStream>(
        net::HttpBodyStreamOptions{8 << 20, std::max(2 * query->spec.interval, kSecond)});
    // Sent at once, so that the client knows that it is connected.
    std::string first = ": " + query->id + "\n\n";
    for (const std::string& note : query->notes) first += NoteEvent(note);
    if (after_ns) {
      for (const auto& told : query->history)
        if (told.start > *after_ns) first += told.event;
    }
    (void)stream->Write(std::move(first));
    query->streams.push_back(stream);
    query->was_heard = true;
    weak = query;
  }
  stream->OnGone([this, weak] { LoseListener(weak); });
  return stream;
}

// Called on an io thread. The server closes its connections before this object is destroyed.
void LiveQueries::LoseListener(const std::weak_ptr<Running>& weak) {
  const Shared query = weak.lock();
  if (query == nullptr) return;
  const std::lock_guard lock(mutex_);
  auto& streams = query->streams;
  const size_t before = streams.size();
  streams.erase(std::remove_if(streams.begin(), streams.end(),
                               [](const auto& stream) { return stream->gone(); }),
                streams.end());
  if (streams.empty() && before != 0) query->unheard_since = Now();
  wake_.notify_all();
}

std::string LiveQueries::ControlJson(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  JsonWriter json;
  json.BeginArray();
  for (const auto& [number, query] : running_) {
    if (query->tenant != tenant || query->state != Running::State::kRunning) continue;
    json.BeginObject()
        .Field("id", query->id)
        .Field("program", query->encoded)
        .Field("plan", ToString(query->plan))
        .Field("interval_ms", query->spec.interval / kMilli)
        .Field("max_tuples", uint64_t{query->spec.max_tuples})
        .Field("max_bytes", uint64_t{query->spec.max_bytes})
        .EndObject();
  }
  json.EndArray();
  return json.Take();
}

Result<std::string> LiveQueries::Report(const std::string& tenant, std::string_view text) {
  JsonParser parser;
  WF_ASSIGN(const JsonValue json, parser.Parse(text));
  const auto bad = [](const std::string& why) {
    return BadInput("report: " + why, "docs/use/live-queries.md describes it");
  };
  ProcessRegistry::Process process{
      std::string(json.Get("instance").String()), std::string(json.Get("service").String()),
      std::string(json.Get("host").String()), json.Get("pid").IntOrText().value_or(0)};
  if (process.instance.empty()) return bad("instance is missing");
  if (const JsonValue told = json.Get("tracepoints"); !told.missing()) {
    std::vector<CompiledTracepoint> tracepoints;
    for (const JsonValue one : told.Elements()) {
      if (one.Get("name").String().empty()) return bad("a tracepoint without name");
      CompiledTracepoint tracepoint{std::string(one.Get("name").String()), {}, 0};
      for (const JsonValue name : one.Get("exports").Elements())
        tracepoint.exports.emplace_back(name.String());
      tracepoints.push_back(std::move(tracepoint));
    }
    WF_TRY(context_.processes.Told(tenant, process, std::move(tracepoints)));
  }
  int64_t accepted = 0, refused = 0;
  // Identifies one run of a sender of this tenant.
  const std::string run(json.Get("run").String());
  const std::string sender = tenant + '\n' + process.instance + '\n' + run;
  for (const JsonValue one : json.Get("results").Elements()) {
    Part part;
    const auto id = ParseSpanId(one.Get("query").String());
    const auto start = one.Get("start_ns").IntOrText();
    const auto partial = Base64Decode(one.Get("partial").String());
    const auto events = Base64Decode(one.Get("events").String());
    if (!id.ok() || !start || !partial || !events) {
      context_.counters.Add("live_query_reports_malformed", 1);
      ++refused;
      continue;
    }
    part.query = id->value;
    part.has_events = !events->empty();
    part.cost = {Count(one, "hits"),
                 Count(one, "tuples"),
                 partial->size() + events->size(),
                 Count(one, "advice_ns"),
                 Count(one, "lost"),
                 Count(one, "overflowed"),
                 Count(one, "packed_tuples_max"),
                 Count(one, "baggage_bytes_max"),
                 1};
    part.interval = {*start, *partial, part.cost.lost};
    {
      const std::lock_guard lock(mutex_);
      const auto number = one.Get("seq").UintOrText();
      if (!run.empty() && number && !taken_.Take(sender, *number)) {
        context_.counters.Add("live_query_reports_twice", 1);
        ++accepted;
        continue;
      }
      TakePart(tenant, part, accepted, refused);
    }
    if (part.into != nullptr &&
        !part.into->Take({process.host, process.service, process.pid}, *events, Now()))
      context_.counters.Add("live_query_reports_malformed", 1);
    if (part.into != nullptr) EvaluateSoon(part.query);
  }
  for (const JsonValue note : json.Get("notes").Elements()) {
    const auto id = ParseSpanId(note.Get("query").String());
    if (!id.ok()) continue;
    const std::lock_guard lock(mutex_);
    TakeNote(tenant, id->value, process.host + ": " + std::string(note.Get("text").String()));
  }
  JsonWriter out;
  out.BeginObject().Field("accepted", accepted).Field("refused", refused).EndObject();
  return out.Take() + "\n";
}

void LiveQueries::TakeNote(const std::string& tenant, uint64_t id, const std::string& text) {
  const auto found = running_.find(id);
  if (found == running_.end() || found->second->tenant != tenant) return;
  Running& query = *found->second;
  if (query.notes.size() >= kMostNotes ||
      std::find(query.notes.begin(), query.notes.end(), text) != query.notes.end())
    return;
  query.notes.push_back(text);
  const std::string event = NoteEvent(text);
  for (const auto& stream : query.streams) (void)stream->Write(event);
}

void LiveQueries::TakePart(const std::string& tenant, Part& part, int64_t& accepted,
                           int64_t& refused) {
  const auto count = [&](const char* name) { context_.counters.Add(name, 1); };
  const auto found = running_.find(part.query);
  if (found == running_.end() || found->second->tenant != tenant) {
    ++refused;
    return count(ended_.count(part.query) != 0 ? "live_query_reports_after_end"
                                               : "live_query_reports_unknown");
  }
  Running& query = *found->second;
  if (part.has_events && query.last_evaluation != Running::LastEvaluation::kNotYet) {
    ++refused;  // they would not be evaluated
    return count("live_query_reports_after_end");
  }
  switch (query.intervals.Add(part.interval)) {
    case QueryIntervals::Taken::kLate:
      count("live_query_reports_late");
      wake_.notify_all();
      break;
    case QueryIntervals::Taken::kInTime:
      break;
    case QueryIntervals::Taken::kOtherShape:
      ++refused;
      return count("live_query_reports_malformed");
    case QueryIntervals::Taken::kTooMany:
      ++refused;
      query.cost.lost += part.cost.tuples;
      return count("live_query_reports_far_off");
  }
  ++accepted;
  count("live_query_reports");
  if (query.total) (void)query.total->Merge(part.interval.partial);
  LiveQueryCost& cost = query.cost;
  cost.hits += part.cost.hits;
  cost.tuples += part.cost.tuples;
  cost.bytes += part.cost.bytes;
  cost.advice_ns += part.cost.advice_ns;
  cost.lost += part.cost.lost;
  cost.overflowed += part.cost.overflowed;
  cost.packed_tuples_max = std::max(cost.packed_tuples_max, part.cost.packed_tuples_max);
  cost.baggage_bytes_max = std::max(cost.baggage_bytes_max, part.cost.baggage_bytes_max);
  cost.reports += 1;
  if (part.cost.overflowed != 0 && query.emit_plan == Running::EmitPlan::kNotNeeded) {
    query.emit_plan = Running::EmitPlan::kWanted;
    wake_.notify_all();
  }
  if (part.has_events && query.emitted == nullptr)
    query.emitted =
        std::make_shared<EmittedEvents>(query.program, query.spec.interval, emitted_memory_);
  if (part.has_events) part.into = query.emitted;
}

void LiveQueries::Tell(Running& query, const ClosedInterval& interval) {
  const std::string event =
      Event("interval", IntervalJson(query.program->result_columns, interval), interval.start_ns);
  for (const auto& stream : query.streams) {
    if (stream->Write(event) != net::HttpBodyStream::Written::kFull) continue;
    context_.counters.Add("live_query_streams_cut", 1);
    stream->End();  // it does not read; the client can request the rest again
  }
  query.told_at = Now();
  query.history_bytes += event.size();
  query.history.push_back({interval.start_ns, event});
  while (query.history.size() > kHistoryIntervals ||
         (query.history_bytes > kHistoryBytes && query.history.size() > 1)) {
    query.history_bytes -= query.history.front().event.size();
    query.history.pop_front();
  }
  if (query.spec.dataset.empty() || interval.rows.empty()) return;
  if (to_store_.size() >= kMostRowsToStore) {
    context_.counters.Add("live_query_rows_not_stored", static_cast<int64_t>(interval.rows.size()));
    return;
  }
  to_store_.push_back({query.tenant, query.spec.dataset, query.program->result_columns, interval});
}

void LiveQueries::Finish(Running& query, Nanos now) {
  for (const ClosedInterval& interval : query.intervals.CloseAll(now)) Tell(query, interval);
  if (query.total) {
    const std::string data =
        TotalJson(query.program->result_columns, query.total->Rows(), query.cost);
    for (const auto& stream : query.streams) (void)stream->Write(Event("total", data));
  }
  JsonWriter json;
  json.BeginObject().Field("reason", query.end_reason);
  WriteLiveQueryCost(query.cost, json.Key("cost"));
  json.EndObject();
  const std::string end = Event("end", json.Take());
  for (const auto& stream : query.streams) {
    (void)stream->Write(end);
    stream->End();
  }
  query.state = Running::State::kEnded;
}

void LiveQueries::Advance(Running& query, Nanos now) {
  for (const ClosedInterval& interval : query.intervals.Close(now)) Tell(query, interval);
  if (now - query.told_at >= kKeepAlive && !query.streams.empty()) {
    query.told_at = now;
    for (const auto& stream : query.streams) (void)stream->Write(":\n\n");
  }
}

Nanos LiveQueries::NextWork() const {
  Nanos next = Now() + kKeepAlive;
  for (const auto& [id, query] : running_) {
    next = std::min(next, query->intervals.due());
    if (query->intervals.has_late() || query->emit_plan == Running::EmitPlan::kWanted) next = 0;
    if (query->state == Running::State::kEnding) next = std::min(next, Now() + 20 * kMilli);
    if (!query->spec.standing && query->streams.empty())
      next = std::min(next, query->unheard_since + query->patience());
  }
  return to_store_.empty() ? next : 0;
}

// Whether no more results of an ending query are to come.
bool LiveQueries::AllReported(Running& query, Nanos now) {
  const auto reach = context_.processes.Reached(query.tenant, query.end_generation);
  if (now >= query.end_by || reach.reported == reach.known) return true;
  if (reach.reached < reach.known) return false;
  if (query.out_everywhere_at == 0) query.out_everywhere_at = now;
  return now - query.out_everywhere_at >= std::max(kSecond, query.spec.interval);
}

void LiveQueries::Tick() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (const Nanos next = NextWork(), now = Now(); next > now) {
      wake_.wait_for(lock, std::chrono::nanoseconds(next - now));
      if (stopping_) break;
    }
    const Nanos now = Now();
    std::vector<Shared> lost, to_keep, overflowed;
    for (auto at = running_.begin(); at != running_.end();) {
      const Shared query = at->second;
      Advance(*query, now);
      if (query->unheard(now) && query->state == Running::State::kRunning) lost.push_back(query);
      if (query->emit_plan == Running::EmitPlan::kWanted) {
        query->emit_plan = Running::EmitPlan::kDecided;
        overflowed.push_back(query);
      }
      if (query->spec.standing && query->state == Running::State::kRunning &&
          now - query->cost_kept_at >= kKeepCost &&
          query->cost.reports != query->kept_cost.reports) {
        query->cost_kept_at = now;
        query->kept_cost = query->cost;
        to_keep.push_back(query);
      }
      if (query->state == Running::State::kEnding && query->end_generation != 0) {
        if (AllReported(*query, now) && LastEvaluated(*query)) {
          Finish(*query, now);
          ended_[at->first] = now;
          at = running_.erase(at);
          continue;
        }
      }
      ++at;
    }
    for (auto at = ended_.begin(); at != ended_.end();)
      at = now - at->second > kRememberEnded ? ended_.erase(at) : std::next(at);
    lock.unlock();
    for (const Shared& query : lost) EndSoon(query, "nobody listens");
    for (const Shared& query : overflowed) LeaveBaggage(query);
    for (const Shared& query : to_keep) {
      if (const Status kept = Keep(*query); !kept.ok())
        log::Error("query {}: {}", query->id, kept.error().message);
    }
    StoreRows();
    lock.lock();
  }
}

void LiveQueries::StoreRows() {
  std::deque<RowsToStore> rows;
  {
    const std::lock_guard lock(mutex_);
    rows.swap(to_store_);
  }
  for (const RowsToStore& one : rows) {
    const auto count = static_cast<int64_t>(one.interval.rows.size());
    const Status stored =
        AppendQueryRows(context_.store, one.tenant, one.dataset, one.columns, one.interval);
    context_.counters.Add(stored.ok() ? "live_query_rows_stored" : "live_query_rows_not_stored",
                          count);
    if (!stored.ok() && log::LogOnce("query dataset " + one.dataset))
      log::Error("dataset {}: {}", one.dataset, stored.error().message);
  }
}

std::map<std::string, int64_t> LiveQueries::Gauges() {
  const std::lock_guard lock(mutex_);
  int64_t streams = 0, standing = 0;
  for (const auto& [id, query] : running_) {
    streams += static_cast<int64_t>(query->streams.size());
    standing += query->spec.standing;
  }
  return {{"live_queries_running", static_cast<int64_t>(running_.size())},
          {"live_queries_standing", standing},
          {"live_query_streams", streams},
          {"live_query_events_bytes", static_cast<int64_t>(emitted_memory_->used)}};
}

void LiveQueries::Stop() {
  std::vector<Shared> standing;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    wake_.notify_all();
    evaluate_.notify_all();
  }
  evaluator_.join();
  EvaluateAtStop();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, query] : running_) {
      query->end_reason = "the server stops";
      if (query->spec.standing && query->state == Running::State::kRunning)
        standing.push_back(query);
      Finish(*query, Now());
    }
  }
  StoreRows();
  for (const Shared& query : standing) {
    if (const Status kept = Keep(*query); !kept.ok())
      log::Error("query {}: {}", query->id, kept.error().message);
  }
}

}  // namespace wf::live
