#include "answer/query/stored_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "advice/program.h"
#include "answer/query/stored_variables.h"
#include "answer/query/trace_execution.h"
#include "answer/trace/clock_answer.h"
#include "lang/query/local_query.h"
#include "lang/query/reference.h"
#include "model/trace_builder.h"

namespace wf::answer {
namespace {

constexpr size_t kTracesAtOnce = 200;
// More rows than anybody reads; they are held in memory until they are sorted.
constexpr size_t kMaxRows = 1'000'000;

const query::Alias& InnermostFrom(const query::Query& query) {
  const query::Alias& from = query.aliases.front();
  return from.source.subquery == nullptr ? from : InnermostFrom(*from.source.subquery);
}

// Every alias that reads tracepoints, those of sub-queries included. Joins are inner and groups of nothing have no row,
// so a trace without an event of one of them has no row.
void AddSources(const query::Query& query, std::vector<const query::Alias*>& out) {
  for (const query::Alias& alias : query.aliases) {
    if (alias.source.subquery != nullptr) {
      AddSources(*alias.source.subquery, out);
    } else {
      out.push_back(&alias);
    }
  }
}

std::vector<std::string> VariablesOf(const std::vector<const query::Alias*>& sources) {
  std::vector<std::string> names;
  for (const query::Alias* source : sources)
    for (const std::string& name : source->columns)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

bool Within(store::TimeRange time, Nanos t) { return time.from <= t && t < time.until; }

// Of what the model makes more than is in the row.
bool IsOdd(const EventBatch& batch, size_t row) {
  constexpr uint8_t kTimes = kHasStart | kHasEnd;
  return batch.type[row] != EventType::kSpan || (batch.marks[row] & kTimes) != kTimes;
}

// Which of some tracepoints a row of a batch has events of: the span's begin, its end, and its points.
class RowEvents {
 public:
  explicit RowEvents(const std::vector<std::string>& tracepoints)
      : tracepoints_(tracepoints.begin(), tracepoints.end()) {}

  // Names that rows are to be scanned for.
  std::vector<std::string> ScanNames() const {
    std::vector<std::string> names;
    for (const std::string& name : tracepoints_) {
      names.push_back(name);
      if (name.size() > kEnd.size() &&
          name.compare(name.size() - kEnd.size(), kEnd.size(), kEnd) == 0)
        names.push_back(name.substr(0, name.size() - kEnd.size()));
    }
    return names;
  }

  void SetBatch(const EventBatch& batch) {
    batch_ = &batch;
    names_.assign(batch.strings.size(), Match{});
    for (uint32_t code = 0; code < names_.size(); ++code) {
      const std::string name(batch.str(code));
      const auto begin = tracepoints_.find(name), end = tracepoints_.find(name + std::string(kEnd));
      if (begin != tracepoints_.end()) names_[code].begin = &*begin;
      if (end != tracepoints_.end()) names_[code].end = &*end;
    }
  }

  // `visit(event)` for each; times are held to the span's, as the model holds them.
  template <typename Visit>
  void ForEach(size_t row, const Visit& visit) const {
    const EventBatch& b = *batch_;
    const Match match = names_[b.name[row]];
    const std::string_view points = b.points(row);
    if (match.begin == nullptr && match.end == nullptr && points.empty()) return;
    const Nanos start = b.start_ns[row], end = std::max(start, b.end_ns[row]);
    StoredEvent event;
    event.process = b.process[row];
    event.attributes = b.attrs(row);
    if (!b.scopes.empty()) event.scope_attributes = b.scope_attrs(row);
    event.trace_id = b.trace_id(row);
    event.span_id = b.id1[row];
    event.kind = BlockKindName(static_cast<BlockKind>(b.kind[row]));
    event.status = b.status[row] == SpanStatus::kError ? "error"
                   : b.status[row] == SpanStatus::kOk  ? "ok"
                                                       : "unset";
    if (match.begin != nullptr) {
      event.tracepoint = *match.begin;
      event.time_ns = start;
      visit(event);
    }
    if (match.end != nullptr) {
      event.tracepoint = *match.end;
      event.time_ns = end;
      event.duration_ns = SaturatingSub(end, start);
      visit(event);
    }
    event.duration_ns.reset();
    event.scope_attributes = {};
    PointReader reader(points);
    for (PackedPoint point; reader.Next(point);) {
      const std::string* const name = names_[point.name].begin;
      if (name == nullptr) continue;
      event.tracepoint = *name;
      event.time_ns = std::clamp(point.time_ns, start, end);
      event.attributes = point.attrs;
      visit(event);
    }
  }

 private:
  static constexpr std::string_view kEnd = ".end";
  struct Match {
    const std::string* begin = nullptr;  // into tracepoints_
    const std::string* end = nullptr;
  };
  std::unordered_set<std::string> tracepoints_;
  const EventBatch* batch_ = nullptr;
  std::vector<Match> names_;  // of each string of the batch
};

class StoredQuery {
 public:
  StoredQuery(store::Store& store, const std::string& tenant, const query::Query& query,
              store::TimeRange from)
      : store_(store), tenant_(tenant), query_(query), from_(from), rows_(query) {
    AddSources(query, sources_);
    for (const std::string& name : query::Tracepoints(query)) tracepoints_.insert(name);
  }

  Result<QueryRows> Run() {
    VariableReader reader(VariablesOf(sources_));
    if (query::LocalQuery::Possible(query_) && !reader.reads_aligned_time()) {
      WF_TRY(ScanEvents());
    } else {
      WF_ASSIGN(const auto traces, FindTraces());
      WF_TRY(EvaluateTraces(traces));
    }
    QueryRows answer;
    answer.columns = query::ColumnNames(query_);
    answer.rows = rows_.Rows();
    query::SortRows(answer.rows);
    answer.cost.emitted = rows_.tuples();
    answer.events = events_;
    answer.traces_modeled = traces_modeled_;
    answer.dropped_edges = dropped_edges_;
    return answer;
  }

 private:
  Status CheckSize() const {
    if (rows_.size() <= kMaxRows) return {};
    return BadInput(fmt::format("this query has more than {} rows", kMaxRows),
                    "group them, sample requests, or give a later --since");
  }

  // Calls `visit` with every batch of rows that may hold an event of these tracepoints; stops when it fails.
  Status Scan(const RowEvents& events, const std::vector<std::string>& attributes,
              store::TimeRange overlaps, const std::function<Status(const EventBatch&)>& visit) {
    store::ScanOptions options;
    options.select = store::EventSelection{events.ScanNames(), attributes, overlaps};
    Status failed;
    WF_TRY(store_.Scan(tenant_, options, [&](const EventBatch& batch) {
      failed = visit(batch);
      return failed.ok();
    }));
    return failed;
  }

  bool Sampled(const TraceId& id) const {
    return !query_.sample || advice::Sampled(ToHex(id), *query_.sample);
  }

  // ---- without a Join
  Status ScanEvents() {
    query::LocalQuery local(query_, rows_);
    VariableReader variables(local.variables());
    RowEvents events(local.tracepoints());
    std::vector<TraceId> odd;
    const auto take = [&](const EventBatch& batch) -> Status {
      variables.SetBatch(batch);
      events.SetBatch(batch);
      for (size_t begin = 0, end = 0; begin < batch.size(); begin = end) {
        end = begin;
        const TraceId id = batch.trace_id(begin);
        bool is_odd = false;
        for (; end < batch.size() && batch.trace_id(end) == id; ++end)
          is_odd = is_odd || IsOdd(batch, end);
        if (!Sampled(id)) continue;
        if (is_odd) {
          odd.push_back(id);
          continue;
        }
        for (size_t row = begin; row < end; ++row)
          events.ForEach(row, [&](const StoredEvent& event) {
            if (!Within(from_, event.time_ns)) return;
            ++events_;
            local.Add(event.time_ns, variables.ReadAll(event));
          });
      }
      return CheckSize();
    };
    WF_TRY(Scan(events, variables.attribute_keys(), from_, take));
    return EvaluateTraces(odd);
  }

  // ---- with one
  // Traces with a From event in time and an event of every other source at any time.
  Result<std::vector<TraceId>> FindTraces() {
    const query::Alias& from = InnermostFrom(query_);
    std::unordered_map<TraceId, std::vector<bool>> found;  // which of sources_ it has
    RowEvents from_events(from.source.tracepoints);
    WF_TRY(Scan(from_events, {}, from_, [&](const EventBatch& batch) -> Status {
      from_events.SetBatch(batch);
      for (size_t row = 0; row < batch.size(); ++row) {
        const TraceId id = batch.trace_id(row);
        // Every event of a trace that is not made of spans has a row with its time.
        bool hit = IsOdd(batch, row) &&
                   (batch.type[row] == EventType::kSpan || Within(from_, batch.start_ns[row]));
        if (!IsOdd(batch, row))
          from_events.ForEach(
              row, [&](const StoredEvent& event) { hit = hit || Within(from_, event.time_ns); });
        if (hit && Sampled(id)) found.try_emplace(id, sources_.size(), false);
      }
      return {};
    }));
    const std::vector<std::string> all(tracepoints_.begin(), tracepoints_.end());
    RowEvents events(all);
    WF_TRY(Scan(events, {}, store::TimeRange(), [&](const EventBatch& batch) -> Status {
      events.SetBatch(batch);
      for (size_t row = 0; row < batch.size(); ++row) {
        const auto trace = found.find(batch.trace_id(row));
        if (trace == found.end()) continue;
        if (IsOdd(batch, row)) trace->second.assign(sources_.size(), true);
        events.ForEach(row, [&](const StoredEvent& event) { Note(event, trace->second); });
      }
      return {};
    }));
    std::vector<TraceId> traces;
    for (const auto& [id, has] : found)
      if (std::all_of(has.begin(), has.end(), [](bool one) { return one; })) traces.push_back(id);
    std::sort(traces.begin(), traces.end());
    return traces;
  }

  void Note(const StoredEvent& event, std::vector<bool>& has) const {
    for (size_t i = 0; i < sources_.size(); ++i) {
      const auto& names = sources_[i]->source.tracepoints;
      if (std::find(names.begin(), names.end(), event.tracepoint) != names.end()) has[i] = true;
    }
  }

  Status EvaluateTraces(const std::vector<TraceId>& traces) {
    VariableReader variables(VariablesOf(sources_));
    for (size_t at = 0; at < traces.size(); at += kTracesAtOnce) {
      const std::vector<TraceId> ids(
          traces.begin() + static_cast<ptrdiff_t>(at),
          traces.begin() + static_cast<ptrdiff_t>(std::min(traces.size(), at + kTracesAtOnce)));
      WF_ASSIGN(const EventBatch batch, store_.ReadTraces(tenant_, ids));
      WF_ASSIGN(const HostClocks clocks, pipeline::ClocksFor(store_, tenant_, batch));
      BuildOptions build;
      build.clocks = &clocks;
      for (size_t begin = 0, end = 0; begin < batch.size(); begin = end) {
        std::vector<uint32_t> rows;
        for (end = begin; end < batch.size() && batch.trace_id(end) == batch.trace_id(begin); ++end)
          rows.push_back(static_cast<uint32_t>(end));
        EvaluateTrace(BuildTrace(batch, std::move(rows), build), variables);
        WF_TRY(CheckSize());
      }
    }
    return {};
  }

  void EvaluateTrace(const Trace& trace, VariableReader& variables) {
    ++traces_modeled_;
    const TraceExecution made = ExecutionOf(trace, tracepoints_, variables);
    dropped_edges_ += made.dropped_edges;
    for (const query::Event& event : made.execution.events)
      events_ += tracepoints_.count(event.tracepoint);
    query::EvaluateRequest(
        query_, made.execution,
        [&](const query::Event& event) { return Within(from_, event.time_ns); }, rows_);
  }

  store::Store& store_;
  const std::string& tenant_;
  const query::Query& query_;
  const store::TimeRange from_;
  std::vector<const query::Alias*> sources_;
  std::unordered_set<std::string> tracepoints_;
  query::RowBuilder rows_;
  uint64_t events_ = 0, traces_modeled_ = 0, dropped_edges_ = 0;
};

}  // namespace

Result<QueryRows> RunStoredQuery(store::Store& store, const std::string& tenant,
                                 const query::Query& query, store::TimeRange from) {
  return StoredQuery(store, tenant, query, from).Run();
}

}  // namespace wf::answer
